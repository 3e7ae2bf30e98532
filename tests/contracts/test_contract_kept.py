"""What users keep is theirs: nobody else sees or changes it beyond what is shared, and no change is lost silently."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from backends import ENGINES

from mappings.documents import Access
from mappings.errors import Conflict, Forbidden, InvalidInput, MedleyError, NotFound
from search.engines.embedded.kept.store import EmbeddedKeptStore
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.kept.store import OpenSearchKeptStore
from search.kept import items
from search.kept.items import KeptDraft, KeptFilter, KeptItem, KeptPage
from search.kept.store import KeptStore

PARAMS = [pytest.param(name, marks=[pytest.mark.opensearch] if name == "opensearch" else []) for name in ENGINES]
ANN = Access("ann", frozenset({"ward-a", "study"}))
BOB = Access("bob", frozenset({"ward-a"}))
EVE = Access("eve", frozenset({"ward-b"}))
CHIEF = Access("chief", frozenset({"*"}))
EVERYTHING = KeptFilter()


@dataclass(frozen=True)
class Shelf:
    """A store under test, the same one as another process opens it, and the collections that exist."""

    store: KeptStore
    again: Callable[[], KeptStore]
    collections: set[str]


@pytest.fixture(params=PARAMS)
def shelf(request, tmp_path: Path) -> Iterator[Shelf]:
    collections = {"notes", "abstracts"}

    def check(name: str) -> None:
        if name not in collections:
            raise NotFound(f"there is no collection {name!r}", field="collection")

    if request.param == "embedded":
        yield Shelf(EmbeddedKeptStore(tmp_path, check), lambda: EmbeddedKeptStore(tmp_path, check), collections)
        return
    cluster = Cluster(Connection((request.getfixturevalue("node").url,), prefix=f"t{secrets.token_hex(5)}"))
    yield Shelf(OpenSearchKeptStore(cluster, check), lambda: OpenSearchKeptStore(cluster, check), collections)
    cluster.write("DELETE", f"/{cluster.prefix}.*")
    cluster.close()


@pytest.fixture
def store(shelf: Shelf) -> KeptStore:
    return shelf.store


def bundle(name: str = "anticoagulants", **changes: Any) -> KeptDraft:
    return replace(KeptDraft("bundle", name, {"terms": ["warfarin", "apixaban"]}), **changes)


def names(page: KeptPage) -> list[str]:
    return [item.name for item in page.items]


def seen(store: KeptStore, access: Access, wanted: KeptFilter = EVERYTHING) -> list[str]:
    return names(store.list_items(access, wanted, 50))


def outcome(call: Callable[[], Any]) -> str:
    """What a call ends with: "done", or the code of its error."""
    try:
        call()
    except MedleyError as error:
        return error.code
    return "done"


def test_an_item_is_stored_exactly_and_every_process_sees_it(shelf: Shelf):
    content = {
        "a.b": 1.5,
        "": None,
        "ä": [True, {"x": "\N{GREEK SMALL LETTER ALPHA}\n\t"}],
        "query": {"match_all": {}},
        "n": 2**53,
    }
    made = shelf.store.add(ANN, KeptDraft("cohort", "Über 65 (50%)", content, "notes", frozenset({"ward-a", "study"})))
    assert made == KeptItem(
        made.id,
        "ann",
        "cohort",
        "Über 65 (50%)",
        content,
        "notes",
        frozenset({"ward-a", "study"}),
        1,
        made.changed,
        made.changed,
    )
    assert shelf.again().get(ANN, made.id) == made
    assert shelf.again().list_items(ANN, EVERYTHING, 10) == KeptPage((made,))


def test_nobody_else_sees_a_private_item_not_even_with_every_label(store: KeptStore):
    made = store.add(ANN, bundle())
    for other in (BOB, EVE, CHIEF, Access("ann ", ANN.labels), Access("Ann", ANN.labels), Access("", frozenset())):
        assert seen(store, other) == []
        for call in (
            lambda access=other: store.get(access, made.id),
            lambda access=other: store.replace(access, made.id, 1, bundle("x")),
            lambda access=other: store.delete(access, made.id),
        ):
            with pytest.raises(NotFound) as invisible:
                call()
            assert invisible.value.message == f"there is no kept item {made.id!r} that you may see"
    assert store.get(ANN, made.id) == made


def test_an_item_is_found_by_the_name_that_its_owner_gave_it(shelf: Shelf):
    store = shelf.store
    made = store.add(ANN, bundle(shared_with=frozenset({"ward-a"})))
    assert shelf.again().named(ANN, "bundle", "anticoagulants") == made
    assert store.named(ANN, "cohort", "anticoagulants") is None
    assert store.named(ANN, "bundle", "Anticoagulants") is None
    assert store.named(BOB, "bundle", "anticoagulants") is None
    renamed = store.replace(ANN, made.id, 1, bundle("thinners"))
    assert store.named(ANN, "bundle", "thinners") == renamed
    assert store.named(ANN, "bundle", "anticoagulants") is None
    store.delete(ANN, made.id)
    assert store.named(ANN, "bundle", "thinners") is None


@pytest.mark.parametrize(
    "unknown", ["0" * 16, "", "x", "../kept", "name-" + "0" * 64, "ä" * 300, "\ud800", "*", "_search"]
)
def test_an_unknown_item_answers_as_an_invisible_one(store: KeptStore, unknown: str):
    for call in (
        lambda: store.get(ANN, unknown),
        lambda: store.replace(ANN, unknown, 1, bundle()),
        lambda: store.delete(ANN, unknown),
    ):
        with pytest.raises(NotFound) as found:
            call()
        assert (found.value.message, found.value.field) == (
            f"there is no kept item {unknown[:100]!r} that you may see",
            "id",
        )
    assert store.remove(unknown) is False
    assert store.named(ANN, "bundle", unknown) is None


def test_a_shared_item_is_read_only_for_those_who_have_the_label(store: KeptStore):
    made = store.add(ANN, bundle(shared_with=frozenset({"ward-a", "study"})))
    assert store.get(BOB, made.id) == replace(
        made, shared_with=frozenset({"ward-a"})
    )  # nothing of a label that is not Bob's
    assert store.list_items(BOB, EVERYTHING, 9).items == (replace(made, shared_with=frozenset({"ward-a"})),)
    assert store.get(CHIEF, made.id) == made
    assert seen(store, EVE) == []
    for call in (lambda: store.replace(BOB, made.id, 1, bundle("mine")), lambda: store.delete(CHIEF, made.id)):
        with pytest.raises(Forbidden, match="only its owner"):
            call()
    private = store.replace(ANN, made.id, 1, bundle())
    assert seen(store, BOB) == seen(store, CHIEF) == []
    assert store.get(ANN, made.id) == private
    with pytest.raises(NotFound):
        store.get(BOB, made.id)


def test_nobody_shares_with_a_label_that_they_do_not_have(store: KeptStore):
    with pytest.raises(Forbidden, match="'ward-b' is none of them"):
        store.add(ANN, bundle(shared_with=frozenset({"ward-a", "ward-b"})))
    made = store.add(ANN, bundle(shared_with=frozenset({"study"})))
    fewer = Access("ann", frozenset({"ward-a"}))  # another token of hers
    changed = store.replace(fewer, made.id, 1, bundle(shared_with=frozenset({"study", "ward-a"})))
    assert changed.shared_with == {"study", "ward-a"}
    with pytest.raises(Forbidden):
        store.replace(fewer, made.id, 2, bundle(shared_with=frozenset({"ward-b"})))
    assert store.add(CHIEF, bundle(shared_with=frozenset({"any"}))).shared_with == {"any"}


def test_a_change_is_the_next_revision(store: KeptStore):
    made = store.add(ANN, bundle())
    changed = store.replace(ANN, made.id, 1, KeptDraft("bundle", "blood thinners", {"terms": []}, "notes"))
    assert changed == KeptItem(
        made.id,
        "ann",
        "bundle",
        "blood thinners",
        {"terms": []},
        "notes",
        frozenset(),
        2,
        made.created,
        changed.changed,
    )
    assert changed.changed > made.changed
    assert store.get(ANN, made.id) == changed
    store.add(ANN, bundle())  # its old name is free again
    with pytest.raises(InvalidInput, match="its kind never changes"):
        store.replace(ANN, made.id, 2, KeptDraft("cohort", "blood thinners", {}))


@pytest.mark.parametrize("revision", [0, 1, 3, -1, 2**40])
def test_a_change_from_another_revision_is_refused(store: KeptStore, revision: int):
    made = store.add(ANN, bundle())
    store.replace(ANN, made.id, 1, bundle(content={"terms": ["two"]}))
    for call in (
        lambda: store.replace(ANN, made.id, revision, bundle(content={"terms": ["lost"]})),
        lambda: store.delete(ANN, made.id, revision),
    ):
        with pytest.raises(Conflict, match=f"the item has revision 2, not {revision}"):
            call()
    assert store.get(ANN, made.id).content == {"terms": ["two"]}


@pytest.mark.parametrize("renamed", [False, True])
def test_of_two_changes_from_one_revision_exactly_one_wins(shelf: Shelf, renamed: bool):
    made = shelf.store.add(ANN, bundle())
    stores, count = [shelf.again() for _ in range(2)], 6
    for revision in range(1, count + 1):
        start = threading.Barrier(2)

        def change(number: int, revision: int = revision, start: threading.Barrier = start) -> KeptItem:
            name = f"{number} of {revision}" if renamed else "anticoagulants"
            start.wait()
            return stores[number].replace(ANN, made.id, revision, bundle(name, content={"by": [number, revision]}))

        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(change, number) for number in range(2)]
        done = [one.result() for one in running if one.exception() is None]
        failed = [one.exception() for one in running if one.exception() is not None]
        assert [type(error) for error in failed] == [Conflict]
        assert [shelf.store.get(ANN, made.id)] == done
    assert shelf.store.get(ANN, made.id).revision == count + 1
    if renamed:  # the names of those who lost are free
        for number in range(2 * count):
            name = f"{number % 2} of {number // 2 + 1}"
            taken = name == shelf.store.get(ANN, made.id).name
            assert outcome(lambda name=name: shelf.store.add(ANN, bundle(name))) == ("conflict" if taken else "done")


def test_of_two_items_of_one_name_exactly_one_is_kept(shelf: Shelf):
    stores, start = [shelf.again() for _ in range(4)], threading.Barrier(4)

    def add(store: KeptStore) -> str:
        start.wait()
        return outcome(lambda: store.add(ANN, bundle()))

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(add, stores)) == ["conflict"] * 3 + ["done"]
    assert seen(shelf.store, ANN) == ["anticoagulants"]


def test_a_name_is_unique_for_its_owner_and_kind(store: KeptStore):
    made = store.add(ANN, bundle())
    store.add(ANN, replace(bundle(), kind="search"))
    store.add(BOB, bundle())
    other = store.add(ANN, bundle("Anticoagulants"))
    for call in (lambda: store.add(ANN, bundle()), lambda: store.replace(ANN, other.id, 1, bundle())):
        with pytest.raises(Conflict, match="you keep a bundle named 'anticoagulants' already") as refused:
            call()
        assert refused.value.field == "name"
    assert store.get(ANN, other.id) == other
    store.delete(ANN, made.id)
    assert store.replace(ANN, other.id, 1, bundle()).name == "anticoagulants"


def test_a_deleted_item_is_gone_for_everybody_and_its_name_is_free(store: KeptStore):
    made = store.add(ANN, bundle(shared_with=frozenset({"ward-a"})))
    assert store.delete(ANN, made.id, 1) == made
    assert seen(store, ANN) == seen(store, BOB) == []
    for call in (lambda: store.get(ANN, made.id), lambda: store.delete(ANN, made.id)):
        with pytest.raises(NotFound):
            call()
    assert store.add(ANN, bundle()).id != made.id


def test_a_listing_is_paged_what_was_changed_last_first(store: KeptStore):
    made = [store.add(ANN, bundle(f"bundle {number}")) for number in range(7)]
    store.add(BOB, bundle("private"))
    shared = store.add(BOB, bundle("shared", shared_with=frozenset({"ward-a"})))
    again = store.replace(ANN, made[2].id, 1, bundle("bundle 2", content={}))
    expected = [again, shared, *[made[number] for number in (6, 5, 4, 3, 1, 0)]]
    found, after, sizes = [], "", []
    while True:
        page = store.list_items(ANN, EVERYTHING, 3, after)
        found += page.items
        sizes.append(len(page.items))
        if page.next is None:
            break
        after = page.next
        store.add(ANN, bundle(f"new {after}"))  # comes before this page, so it changes nothing after it
    assert (found, sizes) == (expected, [3, 3, 2])
    assert store.list_items(ANN, EVERYTHING, 2, expected[-1].position) == KeptPage()


def test_a_listing_is_narrowed_by_kind_and_collection(store: KeptStore):
    store.add(ANN, bundle("a bundle"))
    store.add(ANN, bundle("of notes", collection="notes"))
    store.add(ANN, KeptDraft("cohort", "a cohort", {}, "notes"))
    store.add(BOB, KeptDraft("search", "of abstracts", {}, "abstracts", frozenset({"ward-a"})))
    store.add(BOB, bundle("of Bob", shared_with=frozenset({"ward-a"})))
    assert seen(store, ANN, KeptFilter("bundle")) == ["of Bob", "of notes", "a bundle"]
    assert seen(store, ANN, KeptFilter(collection="notes")) == ["a cohort", "of notes"]
    assert seen(store, ANN, KeptFilter("bundle", "notes")) == ["of notes"]
    assert seen(store, ANN, KeptFilter(collection="")) == ["of Bob", "a bundle"]
    assert seen(store, ANN, KeptFilter("cohort", "abstracts")) == []
    # Her own items stay, whatever she can see of their collection.
    assert seen(store, ANN, KeptFilter(visible=frozenset())) == ["of Bob", "a cohort", "of notes", "a bundle"]
    assert seen(store, ANN, KeptFilter("search", visible=frozenset({"abstracts"}))) == ["of abstracts"]


@pytest.mark.parametrize(("size", "after", "field"), [(0, "", "size"), (51, "", "size")] + [
    (9, after, "after") for after in ("x", "1", "-", "1-", "1-xyz", "-1-" + "0" * 16, "1" * 19 + "-" + "0" * 16, "²-" + "0" * 16)
])  # fmt: skip
def test_a_page_that_is_not_one_is_refused(store: KeptStore, size: int, after: str, field: str):
    with pytest.raises(InvalidInput) as refused:
        store.list_items(ANN, EVERYTHING, size, after)
    assert refused.value.field == field


def test_an_item_belongs_to_a_collection_that_exists(shelf: Shelf):
    with pytest.raises(NotFound, match="there is no collection 'letters'"):
        shelf.store.add(ANN, bundle(collection="letters"))
    made = shelf.store.add(ANN, bundle(collection="notes"))
    with pytest.raises(NotFound):
        shelf.store.replace(ANN, made.id, 1, bundle(collection="letters"))
    shelf.collections.discard("notes")  # what belongs to it can still be changed, until it is removed
    assert shelf.store.replace(ANN, made.id, 1, bundle(content={}, collection="notes")).revision == 2


def test_a_user_keeps_so_many_items_and_no_more(store: KeptStore, monkeypatch: pytest.MonkeyPatch):
    for module in (type(store).__module__,):
        monkeypatch.setattr(f"{module}.MOST_ITEMS", 3)
    made = [store.add(ANN, bundle(f"bundle {number}")) for number in range(3)]
    with pytest.raises(Conflict, match="delete some first"):
        store.add(ANN, bundle())
    store.add(BOB, bundle())
    store.delete(ANN, made[0].id)
    store.add(ANN, bundle())


def test_a_purge_removes_all_of_one_user_and_nothing_of_others(store: KeptStore):
    for number in range(3):
        store.add(ANN, bundle(f"bundle {number}", shared_with=frozenset({"ward-a"})))
    of_bob = store.add(BOB, bundle())
    assert (store.purge("ann"), store.purge("ann"), store.purge("nobody")) == (3, 0, 0)
    assert list(store.export()) == [of_bob]
    assert seen(store, ANN) == []
    assert store.list_items(BOB, EVERYTHING, 9).items == (of_bob,)
    store.add(ANN, bundle("bundle 0"))


def test_the_items_of_a_collection_move_and_go_with_it(shelf: Shelf):
    store = shelf.store
    moved = [store.add(owner, bundle("of notes", collection="notes")) for owner in (ANN, BOB)]
    others = [store.add(ANN, bundle("of abstracts", collection="abstracts")), store.add(ANN, bundle("of none"))]
    assert (store.move_collection("notes", "letters"), store.move_collection("notes", "letters")) == (2, 0)
    now = [replace(item, collection="letters", revision=2) for item in moved]
    assert [store.get(Access(item.owner, frozenset()), item.id) for item in moved] == now
    shelf.collections.add("letters")
    assert store.replace(BOB, moved[1].id, 2, bundle("renamed", collection="letters")).revision == 3
    assert (store.remove_collection("letters"), store.remove_collection("letters")) == (2, 0)
    assert list(store.list_items(ANN, EVERYTHING, 9).items) == others[::-1]
    assert seen(store, BOB) == []
    store.add(BOB, bundle("renamed"))


def test_an_operator_reads_and_removes_any_item(store: KeptStore):
    made = store.add(ANN, bundle(shared_with=frozenset({"ward-a"})))
    assert store.find(made.id) == made
    assert (store.remove(made.id), store.remove(made.id)) == (True, False)
    assert seen(store, ANN) == seen(store, BOB) == []
    with pytest.raises(NotFound):
        store.find(made.id)
    store.add(ANN, bundle())


def by_id(found: Iterator[KeptItem]) -> list[KeptItem]:
    return sorted(found, key=lambda item: item.id)


def test_what_is_exported_is_restored_as_it_was(shelf: Shelf):
    store = shelf.store
    made = [
        store.add(ANN, KeptDraft("cohort", "over 65", {"age": {"gte": 65}}, "notes", frozenset({"ward-a"}))),
        store.add(BOB, bundle()),
    ]
    changed = store.replace(ANN, made[0].id, 1, KeptDraft("cohort", "over 70", {}, "notes", frozenset({"ward-a"})))
    exported = by_id(store.export())
    assert exported == by_id(iter([changed, made[1]]))
    store.purge("ann")
    store.purge("bob")
    assert list(store.export()) == []
    assert (store.restore(exported), store.restore(exported)) == (2, 0)
    assert by_id(store.export()) == exported
    assert seen(store, BOB) == ["anticoagulants", "over 70"] or seen(store, BOB) == ["over 70", "anticoagulants"]
    with pytest.raises(Conflict):
        store.add(BOB, bundle())
    assert store.replace(ANN, changed.id, 2, KeptDraft("cohort", "over 75", {})).revision == 3


def test_a_restore_replaces_nothing_and_loses_nothing(store: KeptStore):
    old = store.add(ANN, bundle(content={"terms": ["old"]}))
    stays = store.add(ANN, bundle("x" * 200))
    exported = by_id(store.export())
    newer = store.replace(ANN, stays.id, 1, bundle("y", content={"terms": ["new"]}))
    store.delete(ANN, old.id)
    new = store.add(ANN, bundle(content={"terms": ["newer"]}))
    assert store.restore(exported) == 1
    back = replace(old, name=f"anticoagulants (restored {old.id})")
    assert by_id(store.export()) == by_id(iter([back, new, newer]))


def test_removed_items_leave_the_files(store: KeptStore):
    store.add(ANN, bundle("secret-name", content={"terms": ["secret-term"]}))
    store.add(BOB, bundle())
    store.purge("ann")
    store.wipe()
    assert seen(store, BOB) == ["anticoagulants"]
    if isinstance(store, EmbeddedKeptStore):
        left = b"".join(path.read_bytes() for path in store.path.parent.glob(f"{store.path.name}*"))
        assert b"anticoagulants" in left
        assert b"secret" not in left


def test_the_limit_is_that_of_the_documentation():
    assert (items.MOST_ITEMS, items.MOST_CONTENT_BYTES, items.MOST_NAME_CHARACTERS) == (1_000, 64_000, 200)

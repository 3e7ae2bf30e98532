"""What `medley ingest` does with the records of a file, on a real store."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Deletion, Document, Rejection, Section
from search.engines.embedded.store import EmbeddedStore
from web.cli.commands import ingest


class Installation:
    """As much of an installation as is asked for documents."""

    def __init__(self, folder: Path) -> None:
        self._store = EmbeddedStore(folder)
        self.collections = self

    def store(self, name: str) -> EmbeddedStore:
        return self._store


def document(identifier: str, text: str = "Text.") -> Document:
    return Document(identifier, "", (Section("", text),), frozenset({"public"}))


def standing(medley: Installation, *ids: str) -> dict[str, str | None]:
    found = medley.collections.store("notes").latest(ids)
    return {name: item.document.sections[0].text if item.document else None for name, item in found.items()}


def test_deletions_and_documents_are_carried_out_in_order(tmp_path):
    medley = Installation(tmp_path)
    records = [
        document("a"),
        Deletion("a"),
        document("b", "Old."),
        Deletion("c"),
        Rejection("f", "line 5", "bad"),
        Deletion("b"),
        document("b", "New."),
        document("b", "New."),
        Deletion("a"),
    ]
    report = ingest.accept(medley, "notes", records)
    assert {name: value for name, value in report.items() if name != "rejections"} == {
        "accepted": 4,
        "unchanged": 1,
        "stale": 0,
        "deleted": 2,
        "rejected": 1,
    }
    assert standing(medley, "a", "b", "c") == {"a": None, "b": "New."}


RECORDS = st.tuples(st.sampled_from("abc"), st.sampled_from(["one", "two", None]))


@given(st.lists(RECORDS, max_size=12), st.integers(1, 5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_comes_last_is_what_stands(tmp_path_factory, monkeypatch, records, size):
    medley = Installation(tmp_path_factory.mktemp("store"))
    monkeypatch.setattr(ingest, "BATCH", size)
    ingest.accept(medley, "notes", [document(key, text) if text else Deletion(key) for key, text in records])
    expected = dict(records)
    found = standing(medley, *expected)
    assert {key: found.get(key) for key in expected} == expected

from __future__ import annotations

import errno
import random
import shutil
from pathlib import Path

import flipping
import orjson
import pytest

from mappings.errors import Damaged, Unavailable
from search.engines.administration import FileProblem
from search.engines.embedded.integrity import files
from search.engines.embedded.integrity.manifest import BLOCK, FILE, FileSums, Manifest
from search.engines.embedded.integrity.sealed import seal, seal_text, unseal, unseal_text
from search.engines.embedded.layout import translate_errors
from search.engines.embedded.writer import EmbeddedWriter
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    made = tmp_path_factory.mktemp("home")
    flipping.build(made)
    return made


@pytest.fixture
def home(built, tmp_path):
    """A copy of a home with an index and a store, to be damaged."""
    shutil.copytree(built, tmp_path / "home", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    return tmp_path / "home"


def pointer(home):
    return home / "collections" / "notes" / "published.json"


def search(home):
    medley = flipping.open_home(home)
    return medley.engine.legs(flipping.request(medley.engine.resolve("notes").index, "heart"))


def scores(home) -> dict[str, float]:
    """Passage -> its score by vectors."""
    return {item.passage: item.score for item in search(home).rankings["dense"]}


def remake(home) -> None:
    list(rebuild(Indexer.of(flipping.open_home(home), "notes"), grace=0.0))


def zero(path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def test_a_file_that_grew_is_read_from_where_it_was_known(tmp_path):
    path = tmp_path / "grows"
    content = random.Random(1).randbytes(3 * BLOCK + 17)
    path.write_bytes(content)
    sums = FileSums()
    for size in (0, 5, BLOCK - 1, BLOCK, 2 * BLOCK + 9, len(content)):
        path.write_bytes(bytes(sums.size) + content[sums.size :])  # what is known is not read again
        sums = sums.extend(path, size)
    path.write_bytes(content)
    assert sums == FileSums().extend(path, len(content))
    assert len(sums.blocks) == 4


def test_a_file_that_is_too_short_has_no_checksums(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"123")
    with pytest.raises(OSError, match="ends after 3 of 4 bytes"):
        FileSums().extend(path, 4)


def test_zeroed_vectors_are_no_answer_but_an_error_with_what_to_do(home, monkeypatch):
    zero(flipping.index_folder(home) / "dense.i8")
    monkeypatch.setattr(files, "_SAMPLED_BLOCKS", 1_000)  # as many as this small index has: a sample finds it by chance
    with pytest.raises(Damaged, match=r"index notes-1 is damaged: dense\.i8 .*; run `medley index rebuild notes`"):
        search(home)


def test_a_word_index_that_can_not_be_opened_is_an_error_with_what_to_do(home):
    for path in flipping.index_folder(home).glob("words/*.store"):
        zero(path)
    with pytest.raises(Unavailable, match=r"index notes-1 .*run `medley index rebuild notes`"):
        search(home)


def test_a_truncated_file_is_found_at_every_opening(home):
    path = flipping.index_folder(home) / "dense.f16"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Damaged, match=r"dense\.f16 has .* bytes instead of"):
        search(home)


def test_nothing_is_written_to_an_index_that_is_found_damaged(home):
    path = flipping.index_folder(home) / "ids.end"
    path.write_bytes(path.read_bytes()[:-8])
    medley = flipping.open_home(home)
    with pytest.raises(Damaged, match=r"ids\.end has"):
        list(ingest(Indexer.of(medley, "notes")))
    assert medley.collections.store("notes").pending("notes-1", 9) == [("n20", 2)]
    remake(home)
    assert flipping.findings(home) == []


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"form": 3}'])
def test_a_damaged_description_is_an_error_and_a_rebuild_replaces_the_index(home, content):
    (flipping.index_folder(home) / "index.json").write_bytes(content)
    with pytest.raises(Damaged, match=r"index\.json can't be read; run `medley index rebuild notes`"):
        search(home)
    remake(home)
    assert flipping.findings(home) == []


def test_a_panic_of_the_word_index_is_an_error_like_others():
    class PanicException(BaseException):  # as tantivy's: no `Exception`
        pass

    with pytest.raises(Unavailable, match="it: offset out of range"), translate_errors("it"):
        raise PanicException("offset out of range")
    with pytest.raises(KeyboardInterrupt), translate_errors("it"):
        raise KeyboardInterrupt


def test_a_file_that_can_not_be_opened_now_is_not_called_damaged(home, monkeypatch):
    engine = flipping.open_home(home).engine
    plain_open = Path.open

    def refuse(path, *arguments, mode="r"):
        if path.suffix == ".term":
            raise OSError(errno.EMFILE, "Too many open files")
        return plain_open(path, *(arguments or (mode,)))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(files, "_SAMPLED_BLOCKS", 1_000)
    for read in (engine.meta, engine.file_problems):
        with pytest.raises(Unavailable, match="Too many open files") as caught:
            read("notes-1")
        assert not isinstance(caught.value, Damaged)
    monkeypatch.undo()
    assert engine.meta("notes-1").documents


def test_damage_stays_an_error_although_a_sample_finds_it_by_chance(home, monkeypatch):
    zero(flipping.index_folder(home) / "dense.i8")
    monkeypatch.setattr(files, "_SAMPLED_BLOCKS", 1_000)
    engine = flipping.open_home(home).engine
    with pytest.raises(Damaged):
        engine.meta("notes-1")
    monkeypatch.setattr(files, "_SAMPLED_BLOCKS", 0)
    with pytest.raises(Damaged):
        engine.meta("notes-1")


def test_a_rebuild_replaces_a_damaged_index_and_takes_none_of_its_vectors(home):
    whole = scores(home)
    zero(flipping.index_folder(home) / "dense.f16")
    remake(home)
    assert flipping.findings(home) == []
    changed = {name for name, score in scores(home).items() if whole.get(name) != score}
    assert {name.split("@")[0] for name in changed} == {"n20"}  # it was pending


def test_an_interrupted_commit_is_no_damage_and_the_next_writer_completes_its_checksums(home, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedWriter, "_record", lambda self: None)  # killed before it writes them
        medley = flipping.open_home(home)
        with medley.engine.writer("notes-1") as writer:
            writer.remove(["n30"])
            writer.commit()
    monkeypatch.setattr(files, "_PAUSE_SECONDS", 0.0)
    medley = flipping.open_home(home)
    assert medley.engine.file_problems("notes-1") == [
        FileProblem("its last commit was interrupted and has no checksums yet", is_damage=False)
    ]
    assert search(home).total.value > 0
    with medley.engine.writer("notes-1"):
        pass
    assert medley.engine.file_problems("notes-1") == []


def test_an_index_of_an_earlier_program_opens_and_is_written_but_can_not_be_checked(home):
    (flipping.index_folder(home) / FILE).unlink()
    engine = flipping.open_home(home).engine
    with engine.writer("notes-1") as writer:
        writer.remove(["n30"])
        writer.commit()
    assert search(home).total.value > 0
    assert engine.file_problems("notes-1") == [
        FileProblem("its files have no checksums, since an earlier version made it", is_damage=False)
    ]
    remake(home)
    assert flipping.findings(home) == []


def test_damaged_checksums_stop_no_search_but_are_reported(home):
    flipping.flip(flipping.index_folder(home) / FILE, 60, 1)
    assert search(home).total.value > 0
    assert "checksums.json is damaged" in flipping.findings(home)[0]
    remake(home)
    assert flipping.findings(home) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"index": 1, "other": 2}', b'{"index":"notes-2","checksum":"0"}']
)
def test_a_damaged_pointer_is_an_error_that_names_the_remedy(home, content):
    pointer(home).write_bytes(content)
    with pytest.raises(Damaged, match=r'published\.json is damaged: write \{"index": "notes-1"\} into it') as caught:
        search(home)
    assert caught.value.code == "damaged"
    pointer(home).write_text('{"index": "notes-1"}')  # the remedy, which is also the earlier form
    assert search(home).total.value > 0


def test_a_pointer_to_another_index_is_noticed(home):
    raw = pointer(home).read_bytes()
    pointer(home).write_bytes(raw.replace(b"notes-1", b"notes-3"))
    with pytest.raises(Damaged, match="published"):
        search(home)


def test_a_damaged_generation_lets_no_name_be_used_again(home):
    path = home / "collections" / "notes" / "generation"
    flipping.flip(path, 14, 1)
    with pytest.raises(Damaged, match=r"generation is damaged: write a number .* such as 1001"):
        remake(home)
    assert "generation is damaged" in flipping.findings(home)[0]
    path.write_text("1001\n")
    remake(home)
    assert flipping.open_home(home).engine.resolve("notes").index == "notes-1002"


def test_a_damaged_kind_and_damaged_weights_are_errors_that_name_the_remedy(home):
    folder = home / "collections" / "notes"
    flipping.flip(folder / "tuned.toml", 3, 1)
    with pytest.raises(Damaged, match=r"tuned\.toml is damaged: run `medley tune notes` again"):
        flipping.open_home(home).collections.get("notes")
    flipping.flip(folder / "collection.json", 3, 1)
    with pytest.raises(Damaged, match=r"collection\.json is damaged: write"):
        flipping.open_home(home).collections.get("notes")


def test_sealed_files_keep_what_they_were_given(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(seal({"index": "a-1"}))
    assert unseal(path, {"index"}, "") == {"index": "a-1"}
    for text in ("", "a = 1\n", "a = 1"):
        path.write_bytes(seal_text(text))
        assert unseal_text(path, "").strip() == text.strip()
        assert path.read_bytes().endswith(b"\n")
    path.write_bytes(b"a = 1\n")  # the earlier form
    assert unseal_text(path, "") == "a = 1\n"
    path.write_bytes(b"\xff")
    with pytest.raises(Damaged):
        unseal_text(path, "")


def test_checksums_are_of_one_commit(home):
    folder = flipping.index_folder(home)
    manifest = Manifest.load(folder)
    meta = orjson.loads((folder / "words" / "meta.json").read_bytes())
    assert manifest is not None
    assert manifest.commit == meta["opstamp"]
    stems = {name.split("/")[-1].split(".")[0] for name in manifest.files if name.startswith("words/")} - {"meta"}
    assert stems == {segment["segment_id"].replace("-", "") for segment in meta["segments"]}

"""What a model and its ancestors saw is recorded by hash, and compared with what evaluation judges."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.ancestry.overlap import find_overlap, overlaps
from encoders.ancestry.record import Ancestry, KnownOverlap, read_ancestry
from encoders.ancestry.seen import SeenTexts, name_hash, text_hash
from encoders.artifact import SHIPPED, Artifact
from encoders.labels.evaluated import JudgedData, read_judged_suite
from encoders.labels.leaks import name_key
from encoders.labels.pairs import Pair, Text
from mappings.errors import ModelError

WALK = Text(
    "w", "Walking and the sleep of adults", "", "Walking for one hour a day improved the sleep of older adults."
)
PEAR = Text("p", "Pears", "", "Whoever picks pears from a ladder should not do so alone or in the dark.")
PAIR = Pair("title", "t:1", "g", "train", "abstracts", "Does walking help sleep?", ("w",), WALK, (PEAR,))
ROOT = Ancestry.of_root("tiny")
SUITE = JudgedData("notes", ("Another query",), (PEAR,))


def run_of(pair: Pair, parent: Ancestry = ROOT, name: str = "run") -> Ancestry:
    return parent.with_run({"name": name}, SeenTexts.of_pairs([pair]))


@given(st.sets(st.integers(0, 2**48 - 1), max_size=60))
def test_hashes_survive_their_file(found: set[int]) -> None:
    seen = SeenTexts.of(found)
    again = SeenTexts.from_bytes(seen.to_bytes(), Path("x"))
    assert again.hashes.tolist() == sorted(found)
    assert again.count(found) == len(found) == len(again)
    assert again.count([2**48 + 1]) == 0


def test_seventy_thousand_texts_take_some_hundred_kilobytes() -> None:
    seen = SeenTexts.of(text_hash(f"text {number}") for number in range(70_000))
    assert len(seen.to_bytes()) < 350_000


@pytest.mark.parametrize("content", [b"", b"something", b"medley-seen-1\n", b"medley-seen-1\n\x00\x01"])
def test_a_damaged_set_is_named(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"ancestry\.bin is not a set of seen texts"):
        SeenTexts.from_bytes(content, Path("ancestry.bin"))


def test_all_that_a_pair_shows_is_seen_however_it_is_written() -> None:
    seen = SeenTexts.of_pairs([PAIR])
    shown = (PAIR.query.upper(), WALK.text.replace(" ", "  "), WALK.title + "!", PEAR.text)
    assert seen.count(map(text_hash, shown)) == 4 == len(seen)  # "Pears" is too short to be its own
    article = replace(PAIR, corpus="health", positive=replace(WALK, title="Quay ague"))
    assert SeenTexts.of_pairs([article]).count([name_hash("AGUE, quay")]) == 1
    assert seen.count([name_hash("Pears")]) == 0


def test_a_suite_is_found_in_an_ancestors_texts_two_runs_back(tmp_path: Path) -> None:
    first = run_of(PAIR, name="first")
    other = replace(
        PAIR, query="Is tea warm?", positive=replace(WALK, text="Tea is warm in winter and cold in summer here.")
    )
    second = run_of(replace(other, negatives=()), first, "second")
    second.write(tmp_path)
    found = read_ancestry(tmp_path)
    assert [run["name"] for run in found.runs] == ["first", "second"]
    assert (found.roots, found.is_known) == (("tiny",), True)
    (overlap,) = overlaps(found, [SUITE, JudgedData("press", ("Nothing of this",), ())])
    assert (overlap.suite, overlap.texts, overlap.queries, overlap.state) == ("notes", 1, 0, "overlap")
    assert str(overlap) == "saw 1 text of this suite"
    assert str(find_overlap(found, JudgedData("press", (), ()))) == "saw nothing of this suite"


def test_a_teachers_texts_are_seen_too() -> None:
    taught = ROOT.with_run({"name": "student"}, SeenTexts(), [run_of(PAIR, name="teacher")])
    assert find_overlap(taught, SUITE).texts == 1
    assert [run["name"] for run in taught.runs] == ["teacher", "student"]
    unknown = ROOT.with_run({"name": "student"}, SeenTexts(), [Ancestry.missing(Path("teacher"))])
    assert not unknown.is_known
    assert find_overlap(unknown, SUITE).state == "unknown"


def test_queries_entities_and_shared_corpora_are_counted_apart() -> None:
    seen = run_of(replace(PAIR, corpus="health", query="What is quay ague?", positive=replace(WALK, title="Quay ague")))
    judged = JudgedData("medquad", ("WHAT is quay ague",), (WALK,), names=frozenset({name_key("ague quay")}))
    found = find_overlap(seen, judged)
    assert (found.queries, found.texts, found.entities, found.counted) == (1, 1, 1, 3)
    shared = find_overlap(seen, replace(judged, suite="scifact", queries=(), names=frozenset()))
    assert (shared.texts, shared.state) == (0, "clean")  # its training claims show the same abstracts by design


def test_a_model_without_a_record_is_unknown(tmp_path: Path) -> None:
    found = read_ancestry(tmp_path)
    assert not found.is_known
    assert find_overlap(found, SUITE).state == "unknown"
    assert "has no ancestry.json" in str(find_overlap(found, SUITE))
    assert overlaps(found, [SUITE]) == []


def test_the_record_of_another_model_says_nothing(tmp_path: Path) -> None:
    run_of(PAIR).write(tmp_path, "a" * 64)
    assert read_ancestry(tmp_path, "a" * 64).is_known
    other = read_ancestry(tmp_path, "b" * 64)
    assert (other.is_known, other.texts) == (False, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a record of ancestry"),
        ("[]", "is not a record of ancestry"),
        ('{"format": 9}', "its format is 9; this version reads 1"),
        ('{"format": 1, "roots": "x"}', "roots is not a list"),
        ('{"format": 1, "roots": [], "runs": [1], "unknown": [], "overlaps": [], "texts": null}', "is not a record"),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "ancestry.json").write_text(content)
    with pytest.raises(ModelError, match=message):
        read_ancestry(tmp_path)


def test_texts_that_were_altered_or_lost_are_named(tmp_path: Path) -> None:
    run_of(PAIR).write(tmp_path)
    (tmp_path / "ancestry.bin").write_bytes(SeenTexts().to_bytes())
    with pytest.raises(ModelError, match=r"ancestry\.bin was altered"):
        read_ancestry(tmp_path)
    (tmp_path / "ancestry.bin").unlink()
    with pytest.raises(ModelError, match=r"ancestry\.bin is missing"):
        read_ancestry(tmp_path)


def test_an_old_record_leaves_no_texts_behind(tmp_path: Path) -> None:
    run_of(PAIR).write(tmp_path)
    Ancestry(unknown=("lost",)).write(tmp_path)
    assert (read_ancestry(tmp_path).texts, (tmp_path / "ancestry.bin").exists()) == (None, False)
    content = json.loads((tmp_path / "ancestry.json").read_text())
    (tmp_path / "ancestry.json").write_text(json.dumps({**content, "unknown": []}))
    assert read_ancestry(tmp_path).unknown == ("the texts that it saw were not recorded",)


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in SHIPPED.glob("*/model.json")), ids=lambda path: path.name
)
def test_the_shipped_models_record_what_they_have_seen_and_no_known_overlap(folder: Path) -> None:
    artifact = Artifact.open(folder)
    found = read_ancestry(folder, artifact.fingerprint)
    assert found.is_known
    before = {"medley-stance": ["medley-crossencoder", "medley-stance-large"]}.get(folder.name, [])
    assert [run["name"] for run in found.runs] == [*before, folder.name]
    assert all(run["checked"] for run in found.runs)
    assert found.runs[0]["pairs"].keys() >= {"expert.jsonl", "citation.jsonl", "headline.jsonl"}
    judged = ("notes", "mts-dialog", "medquad", "press", "evidence")
    assert {find_overlap(found, JudgedData(suite, (), ())).state for suite in judged} == {"clean"}


def test_recorded_overlaps_go_on_to_a_models_children() -> None:
    known = KnownOverlap("notes", "its first run saw 19 passages")
    child = Ancestry(unknown=("lost",), overlaps=(known,)).with_run(
        {"name": "child"}, SeenTexts.of_pairs([PAIR]), [ROOT]
    )
    found = find_overlap(child, JudgedData("notes", (), ()))
    assert (found.state, found.recorded) == ("overlap", (known,))
    assert str(found) == "its first run saw 19 passages; unknown: lost"


def test_a_suite_is_read_by_its_name(data: Path) -> None:
    older = ("scifact", "check-covid", "cystic-fibrosis", "medquad", "press", "notes", "evidence")
    for suite in (*older, "citations", "lay", "answers"):
        found = read_judged_suite(data, suite)
        assert found is not None
        assert found.suite == suite
    assert read_judged_suite(data, "beir") is None
    assert read_judged_suite(data, "experts") is None

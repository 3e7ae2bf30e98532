"""Evaluation data in a training file is refused by hash; what nearly repeats it is dropped by labelling."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.labels.evaluated import JudgedData, read_judged_data
from encoders.labels.guard import Guard, check_pairs_file
from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.sieve import Sieve
from mappings.errors import InvalidInput, NotFound

JUDGED = Text("j1", "Statins after a first stroke", "", "Statins halved the rate of a second stroke within one year.")
OTHER = Text("o1", "Walking and sleep", "", "Walking for one hour a day improved the sleep of older adults.")
ASKED = "Statins prevent a second stroke."
FREE = Pair("title", "t:1", "o1", "train", "abstracts", "Walking helps people to sleep", ("o1",), OTHER)


def suite(name: str, claims: bool = True) -> JudgedData:
    return JudgedData(name, (ASKED,), (JUDGED,), claims)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": "STATINS prevent a second stroke"}, "query"),
        ({"query": "Statins after a first stroke!"}, "query"),
        ({"positive": replace(JUDGED, id="copy", title="Another title")}, "positive"),
        ({"positive": replace(OTHER, title=JUDGED.title)}, "positive"),
        ({"negatives": (OTHER, replace(JUDGED, text=JUDGED.text.upper()))}, "negatives"),
        ({"positive": replace(OTHER, title=ASKED.upper())}, "positive"),
        ({"negatives": (replace(OTHER, text=ASKED),)}, "negatives"),
        ({"positive": replace(OTHER, before=("He slept.", JUDGED.text))}, "positive"),
        ({"positive": replace(OTHER, after=(JUDGED.text.upper(),))}, "positive"),
    ],
)
def test_evaluation_data_is_refused_with_file_line_and_suite(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    guard = Guard([suite("medquad")])
    guard.check(FREE)
    with pytest.raises(InvalidInput, match=r"suite medquad: evaluation data in the training file \(refused by hash\)"):
        guard.check(replace(FREE, **change))
    with pytest.raises(InvalidInput) as caught:
        guard.check(replace(FREE, **change))
    assert caught.value.field == field


def test_a_judged_passage_beside_an_answer_is_left_out_and_counted() -> None:
    dropped: Counter[str] = Counter()
    placed = replace(FREE, positive=replace(OTHER, before=("He slept.", JUDGED.text), after=(JUDGED.text + " Yes.",)))
    (found,) = Sieve([suite("medquad")], dropped).filter_pairs([placed, placed])
    assert (found.positive.before, found.positive.after) == (("He slept.",), ())
    assert dropped["title: passages beside an answer, near one that a suite judges"] == 2


def test_a_claim_may_show_the_corpus_that_both_sides_share_and_no_other_task_may() -> None:
    guard = Guard([suite("scifact"), replace(suite("cystic-fibrosis"), texts=(OTHER,), queries=())])
    claim = replace(FREE, task="scifact", query="Statins raise appetite.", positive=JUDGED, negatives=(JUDGED,))
    guard.check(claim)
    for bad in (
        replace(claim, query=ASKED),
        replace(claim, task="check-covid"),
        replace(claim, task="title", corpus="scifact"),
        replace(claim, negatives=(OTHER,)),
    ):
        with pytest.raises(InvalidInput, match="refused by hash"):
            guard.check(bad)


def test_short_texts_are_nobodys_own() -> None:
    short = JudgedData("notes", (), (Text("n", "Gout", "allergies", "No known drug allergies."),))
    Guard([short]).check(replace(FREE, positive=Text("x", "Gout", "", "No known drug allergies.")))


def test_a_file_is_refused_at_its_line(tmp_path: Path, data: Path) -> None:
    good = replace(FREE, id="t:2", query="Nobody asks this", positive=replace(OTHER, id="o2"), relevant=("o2",))
    write_lines(tmp_path / "title.jsonl", [FREE, good])
    check_pairs_file(tmp_path / "title.jsonl", data)
    leaked = replace(FREE, id="t:3", query="Vaccines work in the elderly.")
    write_lines(tmp_path / "title.jsonl", [FREE, leaked])
    with pytest.raises(InvalidInput, match=r"title\.jsonl, line 2: the query is one of the suite check-covid"):
        check_pairs_file(tmp_path / "title.jsonl", data)


def test_a_pair_may_not_pass_by_the_name_of_another_task(tmp_path: Path, data: Path) -> None:
    (suite,) = (found for found in read_judged_data(data) if found.suite == "scifact")
    judged = suite.texts[0]
    pair = replace(FREE, task="scifact", query="Nobody asks this", positive=judged, relevant=(judged.id,))
    write_lines(tmp_path / "scifact.jsonl", [pair])
    check_pairs_file(tmp_path / "scifact.jsonl", data)
    write_lines(tmp_path / "mine.jsonl", [pair])
    with pytest.raises(
        InvalidInput, match=r"mine\.jsonl, line 1: the task is 'scifact', but the file is named after the task 'mine'"
    ):
        check_pairs_file(tmp_path / "mine.jsonl", data)


def test_suites_whose_data_is_not_there_are_left_out(tmp_path: Path, data: Path) -> None:
    (tmp_path / "mtsamples").symlink_to(data / "mtsamples")
    assert [found.suite for found in read_judged_data(tmp_path)] == ["notes"]
    names = {found.suite for found in read_judged_data(data)}
    assert names == {
        *("scifact", "check-covid", "cystic-fibrosis", "medquad", "press", "notes", "evidence"),
        *("experts", "citations", "lay", "answers", "forms"),
    }


def test_a_folder_without_any_data_set_is_no_guard(tmp_path: Path) -> None:
    write_lines(tmp_path / "title.jsonl", [FREE])
    for folder, what in (
        (tmp_path, "which contains none of the data sets"),
        (tmp_path / "typo", "which is not a folder"),
    ):
        with pytest.raises(NotFound, match=what) as caught:
            check_pairs_file(tmp_path / "title.jsonl", folder)
        assert caught.value.field == "MEDLEY_DATA"
    (tmp_path / "indiana_cxr").mkdir()
    check_pairs_file(tmp_path / "title.jsonl", tmp_path)


def test_near_twins_are_dropped_and_counted_by_task_and_suite() -> None:
    dropped: Counter[str] = Counter()
    sieve = Sieve([suite("press"), JudgedData("medquad", ("What causes gout?",), ())], dropped)
    near = replace(JUDGED, title="A reprint", text=JUDGED.text.upper() + " Good.")
    pairs = [
        FREE,
        replace(FREE, id="t:2"),  # the query and its answer again
        replace(FREE, id="t:3", query="Statins do not prevent a second stroke"),
        replace(FREE, id="t:4", query="What causes gout"),
        replace(FREE, id="t:5", query="What causes gout in men?"),
        replace(FREE, id="t:6", query="Lower lipids", positive=near),
    ]
    assert [pair.id for pair in sieve.filter_pairs(pairs)] == ["t:1", "t:5"]
    assert list(sieve.filter_corpus("abstracts", [OTHER, near])) == [OTHER]
    assert dropped == {
        "title: repeated pairs": 1,
        "title: queries near one of press": 1,
        "title: queries near one of medquad": 1,
        "title: answers near a passage of press": 1,
        "corpus abstracts: passages near one of press": 1,
    }


def test_a_title_that_is_a_query_of_a_suite_is_dropped_with_its_passage() -> None:
    dropped: Counter[str] = Counter()
    sieve = Sieve([replace(suite("press"), texts=())], dropped)
    titled = replace(OTHER, title=ASKED.upper())
    assert list(sieve.filter_corpus("abstracts", [OTHER, titled, replace(OTHER, text=ASKED)])) == [OTHER]
    assert list(sieve.filter_pairs([replace(FREE, task="trial", positive=titled)])) == []
    assert dropped["trial: answers near a passage of press"] == 1


def test_a_query_that_nearly_repeats_a_judged_passage_is_dropped() -> None:
    sieve = Sieve([suite("lay")], Counter())
    repeated = replace(FREE, id="t:2", query=f"{JUDGED.text.upper()} Good.")
    assert list(sieve.filter_pairs([repeated, FREE])) == [FREE]


def test_a_judged_title_is_known_with_what_a_database_appended() -> None:
    sieve = Sieve([suite("lay")], Counter())
    title = f"{JUDGED.title}. [Review] [12 refs]34"
    assert list(sieve.filter_corpus("abstracts", [replace(OTHER, title=title), OTHER])) == [OTHER]
    assert list(sieve.filter_pairs([replace(FREE, id="t:2", query=title), FREE])) == [FREE]


def test_the_shared_corpus_keeps_its_own_judged_abstracts_only() -> None:
    dropped: Counter[str] = Counter()
    sieve = Sieve([suite("scifact"), replace(suite("cystic-fibrosis"), texts=(OTHER,))], dropped)
    assert list(sieve.filter_corpus("scifact", [JUDGED, OTHER])) == [JUDGED]
    assert list(sieve.filter_corpus("abstracts", [JUDGED])) == []


@pytest.mark.data
@pytest.mark.slow
def test_what_the_public_data_sets_judge_is_refused_suite_by_suite(data_folder: Path) -> None:
    suites = read_judged_data(data_folder)
    guard = Guard(suites)
    assert {found.suite for found in suites} >= {"scifact", "check-covid", "medquad", "press", "notes", "evidence"}
    for found in suites:
        long = [text for text in found.texts if len(normalise(text.text).split()) >= 12]
        for text in long[:: max(1, len(long) // 20)]:
            with pytest.raises(InvalidInput, match="refused by hash"):
                guard.check(replace(FREE, positive=text))
        for query in found.queries[:: max(1, len(found.queries) // 20)]:
            with pytest.raises(InvalidInput, match="refused by hash"):
                guard.check(replace(FREE, query=query.upper()))

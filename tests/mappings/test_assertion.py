from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.assertion import assertion
from mappings.clinical.cue_rules import ASSERTIONS, CueRule, marked, rules
from mappings.clinical.reading import assertion_in
from mappings.errors import InvalidInput

ROWS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "assertion.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.example)
def test_every_rule_does_what_its_example_says(rule: CueRule) -> None:
    assert assertion(rule.example, rule.start, rule.end) == rule.expected


@pytest.mark.parametrize(("expected", "section", "text"), ROWS)
def test_what_a_sentence_asserts(expected: str, section: str, text: str) -> None:
    found = marked(text)
    assert found
    assert assertion_in(*found, section) == expected


@pytest.mark.parametrize(("expected", "section", "text"), ROWS)
def test_a_missing_full_stop_changes_nothing(expected: str, section: str, text: str) -> None:
    found = marked(text.rstrip("."))
    assert found
    assert assertion_in(*found, section) == expected


def test_there_are_sentences_for_every_assertion() -> None:
    assert {row[0] for row in ROWS} == set(ASSERTIONS)
    assert len(ROWS) >= 150


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("if\thypothetical\tbefore\tclause\tIf [[fever]].", "a rule has 6 columns, this one has 5"),
        ("if\tperhaps\tbefore\tclause\tIf [[fever]].\thypothetical", "'perhaps' is not one of ruled-out"),
        (
            "if\thypothetical\tbehind\tclause\tIf [[fever]].\thypothetical",
            "'behind' is not one of before, after, either",
        ),
        ("if\thypothetical\tbefore\tpage\tIf [[fever]].\thypothetical", "'page' is not one of next"),
        ("if\thypothetical\tbefore\tclause\tIf fever.\thypothetical", "the example needs one mention"),
        ("if\thypothetical\tbefore\tclause\t[[If]] [[fever]].\thypothetical", "the example needs one mention"),
        ("if||when\thypothetical\tbefore\tclause\tIf [[fever]].\thypothetical", "a cue is empty"),
    ],
)
def test_a_malformed_rule_is_named_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "assertion.tsv"
    path.write_text(f"# rules\n{row}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as raised:
        rules(path)
    assert f"{path}:2" in raised.value.message


@pytest.mark.parametrize("span", [(3, 3), (-1, 2), (0, 99)])
def test_a_mention_outside_its_sentence_is_an_error(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is not inside"):
        assertion("No fever.", *span)
    with pytest.raises(ValueError, match="is not inside"):
        assertion_in("No fever.", *span)


def test_a_heading_inside_a_sentence_is_its_section() -> None:
    text = "FAMILY HISTORY: diabetes and gout"
    assert assertion(text, text.index("gout"), len(text)) == "family"


def test_a_mention_whose_name_contains_a_cue_is_not_its_own_cue() -> None:
    text = "Graft versus host disease."
    assert assertion(text, 0, 25) == "present"


def test_a_cue_reaches_over_its_own_sentence_only() -> None:
    text = "No fever. Cough for a week."
    assert assertion_in(text, text.index("Cough"), text.index("Cough") + 5) == "present"


@given(st.text(st.sampled_from("no if mother ?,;:()-[]x\n./2010 h/o s/p"), min_size=1, max_size=80), st.data())
def test_any_text_has_one_of_the_six_assertions(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert assertion_in(text, start, end) in ASSERTIONS


@pytest.mark.parametrize("part", ["no fever and ", "if pain, ", "mother has gout ", "? ", "resolved pain or ", "(-) "])
def test_time_grows_with_the_length_only(part: str) -> None:
    text = part * 20_000 + "cough"
    started = time.process_time()
    assert assertion_in(text, len(text) - 5, len(text)) in ASSERTIONS
    assert time.process_time() - started < 5

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.entities import Tagger, conditions, merged, read_lexicon
from mappings.errors import InvalidInput

TAGGER = Tagger(
    {
        "congestive heart failure": ("CHF", "heart failure"),
        "heart disease": (),
        "tuberculosis": ("TB",),
        "failure of the kidney": (),
        "als disease": ("ALS",),
        "second": ("TB", "heart disease"),
    }
)


def found(text: str) -> list[tuple[str, str]]:
    return [(text[item.start : item.end], item.entity) for item in TAGGER.mentions(text)]


def test_the_longest_mention_counts_and_none_overlap() -> None:
    assert found("Congestive Heart Failure, then heart failure of the kidney") == [
        ("Congestive Heart Failure", "congestive heart failure"),
        ("failure of the kidney", "failure of the kidney"),
    ]


def test_words_are_whole_and_plurals_count() -> None:
    assert found("preheart failure, heart failures; heart-failure") == [("heart failures", "congestive heart failure")]
    assert found("CHFs") == []
    assert found("anti-TB drugs") == [("TB", "tuberculosis")]


def test_short_forms_count_as_they_are_written() -> None:
    assert found("tb als Als") == []
    assert found("TB or ALS") == [("TB", "tuberculosis"), ("ALS", "als disease")]


def test_the_first_entity_has_a_name_that_two_share() -> None:
    assert found("heart disease and second") == [("heart disease", "heart disease"), ("second", "second")]


@given(st.text(max_size=60))
def test_mentions_are_ordered_disjoint_and_inside_any_text(text: str) -> None:
    mentions = TAGGER.mentions(f"{text} heart failure {text}")
    assert any(item.entity == "congestive heart failure" for item in mentions)
    ends = [0, *(item.end for item in mentions)]
    assert all(before <= item.start < item.end for before, item in zip(ends, mentions, strict=False))


def test_letters_that_grow_when_small_move_nothing() -> None:
    text = "İİİ Heart Failure"
    assert [(text[m.start : m.end]) for m in TAGGER.mentions(text)] == ["Heart Failure"]


def test_our_lexicon_names_hundreds_and_no_name_twice() -> None:
    lexicon = conditions()
    assert len(lexicon) > 400
    names = [name.lower() for entity, others in lexicon.items() for name in {entity, *others}]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert "COPD" in lexicon["chronic obstructive pulmonary disease"]


def test_a_lexicon_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text("# origin: mine\nscurvy\tvitamin c deficiency | barlow disease\n\nscurvy\tscorbutus\nbeet eye\n")
    assert read_lexicon(file) == {
        "scurvy": ("vitamin c deficiency", "barlow disease", "scorbutus"),
        "beet eye": (),
    }
    assert merged([read_lexicon(file), {"scurvy": ("barlow disease", "x")}])["scurvy"][-1] == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc\n", r"mine\.tsv, line 1: a line must be a name, a tab, and other names"),
        ("ok\n\tonly others\n", r"mine\.tsv, line 2: a line must be a name"),
        ("# nothing\n", r"mine\.tsv contains no entity"),
    ],
)
def test_a_wrong_lexicon_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.tsv").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_lexicon(tmp_path / "mine.tsv")


def test_a_lexicon_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.tsv cannot be read"):
        read_lexicon(tmp_path / "none.tsv")
    (tmp_path / "bytes.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"bytes\.tsv is not valid UTF-8"):
        read_lexicon(tmp_path / "bytes.tsv")

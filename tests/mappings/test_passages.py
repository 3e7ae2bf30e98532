from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.passages import passage_sections, passages, windows
from mappings.collection import Granularity, load
from mappings.documents import Document, Passage, Section

ABSTRACTS, NOTES = load("abstracts"), load("notes")


def document(*sections: tuple[str, str], title: str = "Title") -> Document:
    return Document("d", title, tuple(Section(*section) for section in sections), frozenset({"public"}))


def squeezed(text: str) -> str:
    return "".join(text.split())


def is_subsequence(short: str, long: str) -> bool:
    characters = iter(long)
    return all(character in characters for character in short)


def test_an_abstract_is_one_passage_with_its_labels() -> None:
    (found,) = passages(document(("BACKGROUND", "It was. "), ("", "Plain."), ("Methods:", "We did.")), 3, ABSTRACTS)
    assert found.id == "d@3#0"
    assert found.text == "Background: It was.\nPlain.\nMethods: We did."
    assert (found.heading, found.context) == ("", "Title.")
    assert found.model_text == "Title. Background: It was.\nPlain.\nMethods: We did."


def test_a_note_has_one_passage_a_section_and_reads_its_heading_in_full() -> None:
    first, second = passages(document(("HPI", "A man."), ("Unknown thing", "Yes.")), 1, NOTES)
    assert (first.heading, first.text, first.context) == ("HPI", "A man.", "Title. History of present illness:")
    assert (second.heading, second.text, second.context) == ("Unknown thing", "Yes.", "Title. Unknown thing:")


def test_short_sections_are_joined() -> None:
    joined = replace(NOTES, granularity=cast(Granularity, "passage"), max_words=4)
    found = passages(document(("A", "one two"), ("B", "three"), ("C", "four five six")), 1, joined)
    assert [(passage.heading, passage.text) for passage in found] == [
        ("", "A: one two\nB: three"),
        ("C", "four five six"),
    ]


def test_a_long_section_is_cut_at_sentences_and_keeps_its_heading() -> None:
    text = "One two three. Four five. Six seven eight. Nine."
    found = passages(document(("PLAN", text)), 1, replace(NOTES, max_words=5))
    assert [passage.text for passage in found] == ["One two three. Four five.", "Six seven eight. Nine."]
    assert {passage.context for passage in found} == {"Title. Plan:"}


def test_a_long_abstract_keeps_the_heading_it_continues() -> None:
    found = passages(document(("METHODS", "One two three. Four five six.")), 1, replace(ABSTRACTS, max_words=3))
    assert [(passage.heading, passage.text) for passage in found] == [
        ("", "Methods: One two three."),
        ("METHODS", "Four five six."),
    ]


def test_a_title_alone_is_one_passage() -> None:
    (found,) = passages(document(), 1, ABSTRACTS)
    assert (found.text, found.title, found.model_text) == ("Title", "Title", "Title")
    assert passage_sections(document(("", " ")), ABSTRACTS) == (0,)


def test_passages_name_their_sections() -> None:
    text = "One two three. Four five six."
    assert passage_sections(document(("", text), ("", ""), ("", "Seven.")), replace(NOTES, max_words=3)) == (0, 0, 2)


@given(
    texts=st.lists(
        st.tuples(st.sampled_from(["", "PLAN", "x"]), st.text(alphabet="aB1 .,\n", max_size=200)), max_size=5
    ),
    granularity=st.sampled_from(["document", "section", "passage"]),
    most=st.integers(1, 12),
)
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost(texts: list[tuple[str, str]], granularity: Granularity, most: int) -> None:
    source = document(*texts)
    found = passages(source, 1, replace(NOTES, granularity=granularity, max_words=most))
    whole = squeezed("".join(text for _, text in texts))
    cut = squeezed("".join(passage.text for passage in found))
    assert is_subsequence(whole, cut)
    assert granularity != "section" or not whole or cut == whole
    assert [passage.ordinal for passage in found] == list(range(len(found)))
    for passage in found:
        labels = sum(passage.text.count(f"{label}:") for label in ("Plan", "PLAN", "x"))
        assert not whole or len(passage.text.split()) <= most + labels


@pytest.mark.parametrize("unit", ["word ", "x", "Short one. "])
def test_a_long_text_without_headings(unit: str) -> None:
    started = time.process_time()
    found = passages(document(("", unit * (100_000 // len(unit)))), 1, NOTES)
    assert time.process_time() - started < 5
    assert max(len(passage.text.split()) for passage in found) <= NOTES.max_words


def test_an_abbreviation_is_searched_by_the_long_form_that_another_passage_defines():
    sections = (
        Section("HPI", "Known chronic obstructive pulmonary disease (COPD)."),
        Section("PLAN", "Treat the COPD. No CHF."),
    )
    made = passages(Document("n1", "", sections), 1, load("notes"))
    assert [passage.also for passage in made] == ["", "chronic obstructive pulmonary disease"]
    assert "obstructive" not in made[1].text + made[1].context


def test_a_window_is_a_run_of_sentences_after_the_context() -> None:
    (found,) = passages(document(("PLAN", "One two three. Four five. Six seven eight. Nine.")), 1, NOTES)
    assert windows(found, 5) == ("Title. Plan: One two three. Four five.", "Title. Plan: Six seven eight. Nine.")
    assert windows(found, 0) == windows(found, 9) == (found.model_text,)


@given(st.text(max_size=400), st.integers(1, 12))
def test_windows_hold_the_whole_passage_in_order(text: str, words: int) -> None:
    passage = Passage("d", 1, 0, "T", "", text, context="T.")
    read = windows(passage, words)
    assert read
    assert all(part.startswith("T.") for part in read)
    assert squeezed("".join(part.removeprefix("T.") for part in read)) == squeezed(text)

"""Windows as texts that hold their passage, too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.passages import placed_windows, windows
from mappings.analysis.window_text import (
    SURROUNDING_WORDS,
    alone,
    place_in_document,
    place_window,
    read_window,
    shorten,
    surrounding_texts,
)
from mappings.documents import Passage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def passage(text: str, context: str = "") -> Passage:
    return Passage("d", 1, 0, "", "", text, context=context)


def test_a_window_knows_what_is_around_it_and_how_it_reads_alone() -> None:
    text = place_window("Aspirin.", "It was a trial. It helped. Nobody bled.", 16, 26)
    assert read_window(text) == ("Aspirin. ", "It was a trial. ", "It helped.", " Nobody bled.")
    assert alone(text) == "Aspirin. It helped."
    found = read_window(text)
    assert found.whole == "Aspirin. It was a trial. It helped. Nobody bled."
    assert found.whole[slice(*found.span)] == "It helped."


def test_any_other_text_is_a_window_with_nothing_around_it() -> None:
    assert read_window("It helped.") == ("", "", "It helped.", "")
    assert alone("It helped.") == "It helped."


@given(TEXTS, TEXTS, st.data())
def test_characters_that_divide_parts_are_never_taken_for_a_part(context: str, text: str, data: st.DataObject) -> None:
    context, text = (f"{part}\ufdd0\ufdd1\ufdd2" for part in (context, text))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = read_window(place_window(context, text, start, end))
    plain = [part.translate(dict.fromkeys((0xFDD0, 0xFDD1, 0xFDD2), " ")) for part in (context, text)]
    assert found.context == f"{plain[0]} "
    assert (found.before, found.window, found.after) == (plain[1][:start], plain[1][start:end], plain[1][end:])


@given(st.lists(st.sampled_from(["One two three.", "Four!", "Five six seven eight nine ten eleven."]), max_size=12))
def test_placed_windows_are_the_windows_and_share_one_passage(parts: list[str]) -> None:
    found = passage(" ".join(parts), "A title.")
    placed = placed_windows(found, 6)
    assert tuple(map(alone, placed)) == windows(found, 6)
    assert {read_window(text).whole for text in placed} == {found.model_text}


def test_a_passage_is_placed_among_the_others_of_its_document() -> None:
    texts = ["One.", "  ", "Two.", "Three."]
    placed = [
        read_window(text)
        for text in place_in_document(texts, ["Title. One.", "Title.", "Title. Two.", "Title. Three."])
    ]
    assert [item.window for item in placed] == ["Title. One.", "Title.", "Title. Two.", "Title. Three."]
    assert [item.before.strip() for item in placed] == ["", "One.", "One.", "One. Two."]
    assert [item.after.strip() for item in placed] == ["Two. Three.", "Two. Three.", "Three.", ""]
    assert place_in_document(["One."], ["Title. One."]) == ["Title. One."]
    assert place_in_document([]) == []


def test_of_a_long_document_the_nearest_are_around_a_passage() -> None:
    texts = [f"{number} " + "word " * 499 for number in range(20)]
    for at, (before, after) in enumerate(surrounding_texts(texts)):
        assert list(before) == texts[max(0, at - 3) : at]  # three have as many words as are kept
        assert list(after) == texts[at + 1 : at + 4]
    (around,) = surrounding_texts(["x", "long " * 2 * SURROUNDING_WORDS])[:1]
    assert around == ((), ("long " * 2 * SURROUNDING_WORDS,))  # whole, however long: what reads it cuts it


def test_a_text_is_cut_to_what_is_nearest() -> None:
    assert shorten("abcdef", 4) == "abcd"
    (text, _) = place_in_document(["passage", "after"])
    assert shorten(text, 100) == text
    (_, text, _) = place_in_document(["far before", "passage", "after far"])
    assert read_window(shorten(text, 7)) == ("", "before ", "passage", " after ")

from __future__ import annotations

from mappings.analysis.abstract_excerpt import EXCERPTS, excerpt
from mappings.documents import Document, Section

PLAIN = " ".join(
    f"Sentence number {word} stands here." for word in ("one", "two", "three", "four", "five", "six", "seven")
)


def document(*sections: tuple[str, str]) -> Document:
    return Document("d", "A title", tuple(Section(*section) for section in sections))


LABELLED = document(("INTRODUCTION", "Why."), ("Methods", "How."), ("Results", "What."), ("Conclusions:", "So."))
UNLABELLED = document(("", PLAIN))


def texts(found: Document) -> list[str]:
    assert (found.id, found.title) == ("d", "A title")
    return [section.text for section in found.sections]


def test_whole_is_everything() -> None:
    assert excerpt(LABELLED, "whole") is LABELLED
    assert EXCERPTS == ("whole", "A", "B")


def test_of_labelled_abstracts_background_and_conclusion_are_read() -> None:
    assert texts(excerpt(LABELLED, "A")) == texts(excerpt(LABELLED, "B")) == ["Why.", "So."]


def test_of_others_a_reads_all_and_b_both_ends() -> None:
    assert excerpt(UNLABELLED, "A") == UNLABELLED
    (text,) = texts(excerpt(UNLABELLED, "B"))
    assert "number one" in text
    assert "number three" in text
    assert "number four" not in text
    assert text.endswith(
        "Sentence number five stands here. Sentence number six stands here. Sentence number seven stands here."
    )


def test_nothing_is_cut_where_nothing_would_be_left() -> None:
    for kept in (document(("Methods", "How.")), document(("Background", " "), ("Results", "What."))):
        assert excerpt(kept, "B") == kept
    short = document(("", "One is here. Two is here."))
    assert excerpt(short, "B") == short
    title_only = document(("", ""))
    assert excerpt(title_only, "B") == title_only

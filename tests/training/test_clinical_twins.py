"""A section of a note is found again where another data set cuts it elsewhere or masks its names."""

from __future__ import annotations

from collections import Counter

import pytest

from encoders.labels.evaluated import JudgedData
from encoders.labels.leaks import unmask
from encoders.labels.pairs import Pair, Text
from encoders.labels.sieve import Sieve

JUDGED = (
    "Mr. Halvorsen, 61, fell from a ladder on 03/14/2009 while picking pears and landed on his left wrist. "
    "He felt a crack, drove home and called his daughter, who brought him to us in the evening."
)
SUITE = JudgedData("mts-dialog", (), (Text("0", "", "GENHX", JUDGED),), clinical=True)
OTHER = "Ms. Quist slipped on a wet stair of the library, sat down for a while and walked home without any pain."


def kept(text: str, corpus: str = "notes", suite: JudgedData = SUITE) -> bool:
    return bool(list(Sieve([suite], Counter()).filter_corpus(corpus, [Text("t", "A fall", "history", text)])))


@pytest.mark.parametrize(
    "twin",
    [
        JUDGED.upper().replace(" ", "  \n"),
        JUDGED.replace("Mr. Halvorsen, 61,", "Mr. XYZ, 60,").replace("03/14/2009", "1-2-2011"),
        JUDGED.replace("Halvorsen", "[**Known lastname**]").replace("03/14/2009", "___"),
        JUDGED
        + " His past is without illness. He takes no tablets, lives alone on a farm and does not smoke at all. " * 2,
        JUDGED.partition(". He")[0],
    ],
    ids=["case and spaces", "other numbers and a mask", "brackets", "cut later", "cut earlier"],
)
def test_a_twin_in_another_data_set_is_dropped(twin: str) -> None:
    assert not kept(twin)
    assert not kept(twin, "entity-aspect-notes")
    pair = Pair("note", "n:1", "g", "train", "notes", "fall history", ("t",), Text("t", "A fall", "history", twin))
    dropped: Counter[str] = Counter()
    assert list(Sieve([SUITE], dropped).filter_pairs([pair])) == []
    assert dropped == {"note: answers near a passage of mts-dialog": 1}


def test_other_notes_and_short_common_sentences_are_kept() -> None:
    assert kept(OTHER)
    assert kept("He felt a crack.")  # fewer words than make a text one's own
    assert kept(
        "No known drug allergies.", suite=JudgedData("notes", (), (Text("1", "", "", "No known drug allergies."),))
    )


def test_articles_that_quote_a_note_are_judged_by_the_whole_text() -> None:
    assert kept(JUDGED + " Such falls are common. " + OTHER * 3, "health")


def test_masks_and_numbers_are_one() -> None:
    assert unmask("Seen [**2101-3-4**] by Dr. ___ and XXX at 1:1, 0.5 mL").split() == [
        "Seen", "by", "Dr.", "and", "at", "0,", "0", "mL",
    ]  # fmt: skip
    assert unmask("") == ""
    assert unmask("[broken **") == "[broken  "

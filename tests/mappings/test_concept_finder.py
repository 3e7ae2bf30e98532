from __future__ import annotations

from itertools import pairwise

import pytest
from clinical_lexicon import small_lexicon
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.mentions import ConceptFinder, FoundName

NAMES = (
    "lung disease",
    "lung",
    "infections",
    "lobar pneumonia",
    "pneumonia",
    "effusion",
    "fluid around the lung",
    "MS",
)
WORDS = st.sampled_from(
    [*NAMES, "around", "the", "fluid", "C. difficile", "C.", "difficile", "Crohn\u2019s disease", "Crohn's"]
)
GAPS = st.sampled_from([" ", " ", " ", "  ", ", ", "-", "/", ". ", " (", "\n", "_", "'"])
SENTENCES = st.lists(st.tuples(WORDS, GAPS), max_size=12).map(lambda parts: "".join(map("".join, parts)))


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> ConceptFinder:
    return ConceptFinder(small_lexicon(tmp_path_factory.mktemp("concepts")))


def test_every_name_is_found_as_its_concept(tmp_path_factory: pytest.TempPathFactory) -> None:
    lexicon = small_lexicon(tmp_path_factory.mktemp("every"))
    finder = ConceptFinder(lexicon)
    for concept in lexicon:
        for name in concept.names:
            assert finder.find(f"He has {name}.") == [FoundName(7, 7 + len(name), (concept.id,))]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The lung is mildly infected.", ["lung is mildly infected"]),
        ("Lungs remain diffusely infected.", ["Lungs remain diffusely infected"]),
        ("Pleural left lower lobe effusion.", ["Pleural left lower lobe effusion"]),
        ("fluid around lung, fluid around the left lung", ["fluid around lung", "fluid around the left lung"]),
        ("The lung is not infected.", []),
        ("The lung is, mildly, infected.", []),
        ("The lung is mildly. Infected.", []),
        ("Lobar is fever.", ["fever"]),
        ("pneumonia is mildly better", ["pneumonia"]),
        ("pneumonia of the left lower", ["pneumonia"]),
        ("C. left diff", []),
    ],
)
def test_words_of_side_place_and_degree_can_be_in_a_name(
    finder: ConceptFinder, sentence: str, expected: list[str]
) -> None:
    assert [sentence[item.start : item.end] for item in finder.find(sentence)] == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("lung  infection", ["lung  infection"]),
        ("lung-infection", ["lung-infection"]),
        ("lung (infection)", ["lung (infection"]),
        ("lung. infection", []),
        ("lung; infection", []),
        ("lung_infection", []),
        ("lobar lobar pneumonia", ["lobar pneumonia"]),
        ("fluid around the pneumonia", ["pneumonia"]),
        ("Crohn's disease's fever", ["Crohn's disease", "fever"]),
        ("O'C. difficile, C. diff.", ["C. diff"]),
        ("caf\u00e9 with fever\u2014pneumonia", ["fever", "pneumonia"]),
    ],
)
def test_what_can_be_between_the_words_of_a_name(finder: ConceptFinder, sentence: str, expected: list[str]) -> None:
    assert [sentence[item.start : item.end] for item in finder.find(sentence)] == expected


@given(SENTENCES)
def test_other_words_in_a_sentence_change_no_mention(finder: ConceptFinder, sentence: str) -> None:
    expected = finder.find(sentence)
    assert all(before.end <= after.start for before, after in pairwise(expected))
    for more in ("; z", "; \u00e9", "; don't", "; \u00e9 don\u2019t"):  # in other letters, and with an apostrophe
        assert finder.find(sentence + more) == expected


@given(SENTENCES)
def test_a_mention_moves_with_its_sentence(finder: ConceptFinder, sentence: str) -> None:
    moved = [item._replace(start=item.start + 7, end=item.end + 7) for item in finder.find(sentence)]
    assert finder.find(f"Dinner; {sentence}"[1:]) == moved

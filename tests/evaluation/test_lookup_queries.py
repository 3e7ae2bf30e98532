"""Look-ups made from documents: of every type, the same each time, never of stop words only, with the right holders."""

from __future__ import annotations

from collections import Counter

import pytest
from lookup_documents import ABSTRACTS, NOTES, document

from evaluation.suites.lookups import queries
from evaluation.suites.lookups.oracle import WordIndex, phrase_of
from evaluation.suites.lookups.queries import Lookup, identifying, make_lookups
from mappings import collection as kinds
from mappings.analysis.words import terms
from mappings.documents import Document

KIND = kinds.load("abstracts")


def made(documents: tuple[Document, ...] = ABSTRACTS, number: int = 500, seed: int = 1) -> list[Lookup]:
    return make_lookups(WordIndex(documents), KIND, number, seed)


def holders(kind: str, documents: tuple[Document, ...] = ABSTRACTS) -> dict[str, set[str]]:
    return {item.text: set(item.holders) for item in made(documents) if item.type == kind}


def test_every_look_up_has_words_and_holders_and_is_made_once() -> None:
    found = made()
    assert {item.type for item in found} == set(queries.TYPES)
    assert all(item.holders and terms(item.text) for item in found)
    assert len({item.text.lower() for item in found}) == len(found)


def test_the_same_seed_makes_the_same_look_ups() -> None:
    assert made(number=30) == made(tuple(reversed(ABSTRACTS)), number=30)
    assert made(number=30) != made(number=30, seed=2)


@pytest.mark.parametrize(("number", "share"), [(1, {0, 1}), (7, {1}), (30, {4, 5})])
def test_types_have_about_equal_shares(number: int, share: set[int]) -> None:
    found = made(number=number)
    assert len(found) == number
    plain = (queries.RARE_WORD, queries.IDENTIFIER, queries.TITLE, queries.TWO_WORDS)
    counted = Counter(item.type for item in found)
    assert {counted[kind] for kind in plain} == share


def test_drug_names_are_words_with_a_drugs_ending() -> None:
    proteins = document("a7", "In April", "Cystatin and somatostatin; bevacizumab, lisinopril or prednisone.")
    assert holders(queries.DRUG_NAME, (*ABSTRACTS, proteins)) == {
        "zelvastatin": {"a1", "a6"},
        "bevacizumab": {"a7"},
        "lisinopril": {"a7"},
        "prednisone": {"a7"},
    }


def test_an_abbreviation_is_held_in_its_short_form_or_any_long_form() -> None:
    # "AD" counts in this spelling only, "ad" is a word; both of its senses count.
    assert holders(queries.AMBIGUOUS)["AD"] == {"a2", "a3", "a4"}
    assert holders(queries.ABBREVIATION)["MI"] == {"a5"}


def test_abbreviations_that_are_stop_words_are_not_looked_up() -> None:
    operations = document("a7", "OR", "Taken to the operating room; AS and aortic stenosis.")
    assert not {"OR", "AS"} & {item.text for item in made((*ABSTRACTS, operations))}


def test_ids_and_identifying_fields_are_held_by_their_documents() -> None:
    assert identifying(KIND) == ("pmid", "doi")
    found = holders(queries.IDENTIFIER)
    assert set(found) <= {f"a{number}" for number in range(1, 7)} | {f"9000{number}" for number in range(1, 7)}
    assert len(found) == 6
    assert all(identifiers == {f"a{text[-1]}"} for text, identifiers in found.items())


def test_a_patient_is_held_by_all_of_the_patients_notes() -> None:
    found = make_lookups(WordIndex(NOTES), kinds.load("notes"), 500, seed=4)
    assert identifying(kinds.load("notes")) == ("patient", "encounter")
    expected = {"p1": {"n1", "n2"}, "p2": {"n3"}, "e71": {"n1"}, "e72": {"n2"}, "e73": {"n3"}}
    identifiers = {item.text: set(item.holders) for item in found if item.type == queries.IDENTIFIER}
    assert identifiers
    assert all(expected.get(text, {text}) == held for text, held in identifiers.items())


def test_titles_of_many_documents_are_not_looked_up() -> None:
    films = tuple(document(f"f{number:02}", "Chest film", f"Film number {number}.") for number in range(11))
    assert holders(queries.TITLE, films) == {}
    assert holders(queries.TITLE, films[:10]) == {"Chest film": {f"f{number:02}" for number in range(10)}}


def test_phrases_are_quoted_runs_of_two_to_four_content_words() -> None:
    found = holders(queries.PHRASE)
    assert found
    for text, held in found.items():
        assert text[0] == text[-1] == '"'
        assert 2 <= len(terms(text)) <= 4
        assert "." not in text
        assert held == WordIndex(ABSTRACTS).holding_phrase(phrase_of(text))


def test_words_of_no_content_are_not_looked_up() -> None:
    found = made((document("x1", "Which", "Which of them has been with whom? Since Monday, which rested."),))
    words = {word for item in found if item.type != queries.TITLE for word in item.text.strip('"').split()}
    assert not {"which", "has", "been", "whom"} & words


@pytest.mark.parametrize("documents", [(), (document("the", "", "of the and to"),)])
def test_nothing_is_made_of_stop_words_only(documents: tuple[Document, ...]) -> None:
    made_of_text = [item for item in made(documents) if "results" not in item.text.lower()]
    assert made_of_text == []

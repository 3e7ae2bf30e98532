"""How surely a passage proves what a query asks documents to assert."""

from __future__ import annotations

import pytest

from mappings import collection as kinds
from mappings.clinical.concepts import shipped_concepts
from mappings.clinical.placing import asks, keys_of, read_passages
from mappings.clinical.reading import ConceptReader
from mappings.documents import Access, Document, Passage, Section
from search.pipeline.evidence import doubts
from search.protocols import IndexEntry
from search.query import Query
from search.understanding.criteria import read_query

READER = ConceptReader(shipped_concepts())


def passage(heading: str, text: str) -> Passage:
    document = Document("r", "Chest X-ray", (Section(heading, text),), frozenset({"clinical"}))
    [found] = read_passages(document, 1, kinds.load("reports"), READER)
    return found


def doubt(heading: str, text: str, **slots: tuple[str, ...]) -> int:
    query = Query("reports", Access("u", frozenset({"*"})), **slots)
    return doubts(passage(heading, text), read_query(query, "", READER, True).criteria, READER.lexicon)


def test_what_a_report_finds_comes_before_what_it_was_asked_for_and_the_sure_before_the_suspected() -> None:
    told = [
        ("Findings", "Severe emphysema."),
        ("Impression", "Emphysema in both apices. Emphysema is not certain on the left."),
        ("Indication", "Known emphysema."),
        ("Impression", "Possible emphysema."),
        ("Reason for exam", "Rule out emphysema."),
        ("Findings", "Clear lungs."),
    ]
    found = [doubt(*item, having=("emphysema",)) for item in told]
    assert found == sorted(set(found))


def test_doubts_about_several_criteria_add_up() -> None:
    both = {"having": ("emphysema", "scoliosis")}
    assert doubt("Findings", "Emphysema and scoliosis.", **both) == 0
    assert 0 < doubt("Indication", "Emphysema and scoliosis.", **both) < doubt("Findings", "Emphysema.", **both)


@pytest.mark.parametrize("names", [("emphysema", "scoliosis"), ("emphysema", "scoliosis", "kyphosis")])
def test_many_lesser_doubts_are_less_than_a_greater_one(names: tuple[str, ...]) -> None:
    criteria = {"having": names}
    first, *others = names
    told = [
        ("Findings", f"{', '.join(names)}."),
        ("Indication", f"Known {', '.join(names)}."),
        ("Findings", f"{', '.join(others)}. Possible {first}."),
        ("Indication", " ".join(f"Possible {name}." for name in names)),
        ("Findings", f"{', '.join(others)}."),
    ]
    found = [doubt(*item, **criteria) for item in told]
    assert found == sorted(set(found))


@pytest.mark.parametrize("heading", ["Indication", "REASON FOR EXAM:", "Clinical history"])
def test_a_section_that_asks_finds_nothing(heading: str) -> None:
    assert asks(heading)
    found = keys_of(passage(heading, "Known emphysema."), READER.lexicon)
    assert {"emphysema|present", "chronic-obstructive-pulmonary-disease|present"} <= found
    assert not [key for key in found if key.endswith("|found")]


def test_any_other_section_finds_what_is_present_and_what_is_wider() -> None:
    assert not asks("Findings")
    found = keys_of(passage("Findings", "Emphysema. No scoliosis. Possible kyphosis."), READER.lexicon)
    stated = {key for key in found if key.endswith("|found")}
    assert {"emphysema|found", "chronic-obstructive-pulmonary-disease|found"} <= stated
    assert not {"scoliosis|found", "kyphosis|found"} & found


def test_what_is_found_is_a_key_of_passages_alone() -> None:
    read = passage("Findings", "Emphysema.")
    keys = keys_of(read, READER.lexicon)
    entry = IndexEntry("r", 1, frozenset(), {}, (read,), {}, asserted=(keys,))
    assert "emphysema|found" in entry.proven(0)
    assert "emphysema|present" in (asserted := entry.indexed_fields["asserted"])
    assert not [key for key in asserted if key.endswith("|found")]

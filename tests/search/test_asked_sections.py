"""Queries that name a section: what they are about decides first which documents come, then the section within these."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access, Document, Passage, Section
from search.bootstrap import Medley
from search.pipeline.lookup import in_sections
from search.pipeline.retrieve import retrieve
from search.pipeline.services import Trace
from search.query import Query
from search.settings import Settings
from search.understanding.aspects import after_subject, before_aspect
from search.understanding.lookups import Words, can_hold, phrase
from search.understanding.understand import Understanding, understand
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

EVERYBODY = Access("u", frozenset({"*"}))
NOTES = {
    "lung": [
        ("HISTORY OF PRESENT ILLNESS", "Asthma since childhood, worse at night and in spring."),
        ("PLAN", "A steroid is inhaled every morning, and the spacer was shown once more."),
    ],
    "wrist": [
        ("HISTORY OF PRESENT ILLNESS", "A broken wrist after a fall on ice."),
        ("PLAN", "A cast for six weeks, then exercises."),
    ],
    "calm": [
        ("HISTORY OF PRESENT ILLNESS", "Asthma is under control, and nothing wakes her."),
        ("FAMILY HISTORY", "Her father had a stroke."),
    ],
    "nested": [
        ("HOSPITAL COURSE", "Treated for asthma. The plan is to go home on Friday."),
        ("DISPOSITION", "Home with her sister."),
    ],
}


@pytest.fixture(scope="module")
def medley(tmp_path_factory: pytest.TempPathFactory) -> Medley:
    home = tmp_path_factory.mktemp("sections")
    medley = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    medley.collections.store("notes").put(
        [
            Document(name, "", tuple(Section(*item) for item in sections), frozenset({"ward"}), {"patient": name})
            for name, sections in NOTES.items()
        ]
    )
    assert [item.cause for item in ingest(Indexer.of(medley, "notes")) if item.cause] == []
    return medley


def ranked(medley: Medley, **slots: str) -> list[tuple[str, str]]:
    """(document, heading) of the candidates in their order."""
    found = retrieve(Query("notes", EVERYBODY, **slots), medley.services, Trace(), medley.collections.get("notes"))  # type: ignore[arg-type]
    passages = found.contents.passages([item.passage for item in found.candidates])
    return [(item.document, passages[item.passage].heading) for item in found.candidates]


def read(text: str = "", reads_text: bool = True, **slots: str) -> Understanding:
    return understand(Query("notes", EVERYBODY, text, **slots), {}, None, reads_text)  # type: ignore[arg-type]


@pytest.mark.parametrize("slots", [{"text": "asthma plan"}, {"entity": "asthma", "aspect": "plan"}])
def test_sections_of_documents_that_hold_the_subject_come_before_those_of_others(medley: Medley, slots) -> None:
    found = ranked(medley, **slots)
    # A passage that names the section within itself is one of it.
    assert set(found[:2]) == {("lung", "PLAN"), ("nested", "HOSPITAL COURSE")}
    assert set(found[2:4]) == {("lung", "HISTORY OF PRESENT ILLNESS"), ("calm", "HISTORY OF PRESENT ILLNESS")}
    assert found[4] == ("wrist", "PLAN")


def test_where_no_document_holds_the_subject_its_sections_come_first(medley: Medley) -> None:
    found = ranked(medley, text="gout plan")
    assert {document for document, _ in found[:2]} == {"lung", "wrist"}
    assert {heading for _, heading in found[:2]} == {"PLAN"}


def test_a_section_alone_is_asked_of_every_document(medley: Medley) -> None:
    assert {heading for _, heading in ranked(medley, aspect="plan")[:2]} == {"PLAN"}


@pytest.mark.parametrize(
    ("text", "subject", "section"),
    [
        ("asthma social history", "asthma", "social history"),
        ("knee pain history", "knee pain", "history"),
        ("hay fever medications", "hay fever", "medications"),
        ("  hay  fever   social  history ", "hay fever", "social history"),
        ("asthma", "asthma", ""),
        ("plan", "plan", ""),
        ("treatment of asthma", "treatment of asthma", ""),
        ("", "", ""),
    ],
)
def test_a_text_is_about_what_stands_before_its_heading(text: str, subject: str, section: str) -> None:
    assert (before_aspect(text), after_subject(text)) == (subject, section)


def test_what_a_document_has_to_hold_is_the_subject_without_the_section() -> None:
    assert [item.typed for item in read("asthma plan").asked] == ["asthma"]
    assert [item.typed for item in read("asthma plan", reads_text=False).asked] == ["asthma", "plan"]
    assert [item.typed for item in read(entity="hay fever", aspect="plan").asked] == ["hay", "fever"]
    assert read(entity="hay fever", aspect="plan", reads_text=False).asked == ()
    assert read(entity="hay fever").asked == ()
    assert read(aspect="plan").asked == ()
    assert read("at night", entity="hay fever", aspect="plan").asked == ()


def test_a_section_within_another_counts_only_in_documents_that_hold_the_query() -> None:
    passages = {
        "own": Passage("d1", 1, 0, "", "PLAN", "Rest."),
        "within": Passage("d1", 1, 1, "", "EXAM", "HEENT: clear. Social history: smokes."),
        "parted": Passage("d1", 1, 2, "", "EXAM", "Social matters; history is long."),
        "elsewhere": Passage("d2", 1, 0, "", "EXAM", "Social history: smokes."),
        "headed": Passage("d2", 1, 1, "", "SOCIAL HISTORY", "Smokes."),
    }
    asked = ("asthma social history", "asthma social history -smoker")
    by_text = [read(text).section for text in asked]
    by_slots = read(entity="asthma", aspect="Social History").section
    assert [*by_text, by_slots] == ["social history", "social history", "Social History"]
    for section in (*by_text, by_slots):
        assert in_sections(passages, {"own"}, ("social history",), section) == {"within", "headed"}
        assert in_sections(passages, set(), ("social history",), section) == {"headed"}
    assert in_sections(passages, {"own"}, ("social history",), read("asthma").section) == {"headed"}


@given(
    st.lists(
        st.sampled_from(
            [
                "History",
                "histories",
                "PLAN",
                "plans",
                "Ros",
                "heent",
                "général",
                "Émile",
                "the",
                "of",
                "-",
                "12",
                "x-ray",
            ]
        ),
        max_size=8,
    )
)
def test_what_can_not_hold_a_phrase_does_not(words: list[str]) -> None:
    text = " ".join(words)
    for typed in ("history", "plan", "ROS", "HEENT", "general", "x ray", "history of plan", "12", "a", ""):
        if Words(text).hold(phrase(typed)):
            assert can_hold(text, phrase(typed))
    assert not can_hold("Rest and ice.", phrase("plan"))

"""What the documents of a page's patients say of each criterion: the standing of each patient, and the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from typing import Final

from mappings.analysis.sentences import sentences
from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import ASSERTIONS
from mappings.clinical.placing import RULED_OUT, assertion_key, wider_keys
from mappings.documents import FieldValue, Passage, PassageMention
from search.cohorts.definition import CohortCriterion
from search.cohorts.results import CohortEvidence, CohortPatient, CriterionStanding, Standing
from search.cohorts.words import sentences_with, wanted_phrases
from search.pipeline.results import Span
from search.protocols import PatientDocuments
from search.query import Phrase

MAX_SENTENCES: Final = 5
"""Most sentences of one criterion."""

_DENIALS: Final[Mapping[str, Standing]] = {RULED_OUT: "ruled-out", "uncertain": "uncertain"}
"""What a document can say that is nearly an answer; of the newest document that says one of them, the first one counts."""


@dataclass(slots=True)
class DocumentContent:
    """One document: its fields, and its passages by what they assert and in order.

    `opening` is its first passage, where it is needed: it stands for a document that meets a criterion of fields alone.
    """

    fields: Mapping[str, FieldValue]
    day: date | None
    passages: Sequence[Passage] = ()
    opening: Passage | None = None
    by_key: dict[str, list[tuple[Passage, PassageMention]]] = field(default_factory=dict)

    def read(self, passages: Sequence[Passage], lexicon: ConceptLexicon | None) -> None:
        """Take up what the passages assert, of wider concepts too."""
        self.passages = passages
        if lexicon is None:
            return
        for passage in passages:
            for mention in passage.mentions:
                for key in wider_keys(lexicon, mention.concept, mention.assertion):
                    self.by_key.setdefault(key, []).append((passage, mention))

    @property
    def concepts(self) -> frozenset[str]:
        """Everything that it speaks of, wider concepts too."""
        return frozenset(key.partition("|")[0] for key in self.by_key)


def keys_of_criteria(criteria: Iterable[CohortCriterion]) -> list[str]:
    """The keys of everything that can be said of the concepts that are asked for."""
    concepts = dict.fromkeys(concept for item in criteria for concept in item.concepts)
    return [assertion_key(concept, assertion) for concept in concepts for assertion in ASSERTIONS]


def phrases_of_criteria(criteria: Iterable[CohortCriterion]) -> list[Phrase]:
    """All phrases that are asked for."""
    return list(dict.fromkeys(phrase for item in criteria for phrase in wanted_phrases(item.words)))


def opening_documents(
    patients: Iterable[PatientDocuments], criteria: Sequence[CohortCriterion], contents: Mapping[str, DocumentContent]
) -> list[str]:
    """The documents that are shown by their openings: they meet a criterion that asks for no concept and no words."""
    plain = [number for number, item in enumerate(criteria) if not (item.concepts or item.words)]
    return list(
        dict.fromkeys(
            name
            for patient in patients
            for number in plain
            for name in _newest_first(patient.meeting[number], contents)[:MAX_SENTENCES]
        )
    )


def patient_standings(
    patient: PatientDocuments, criteria: Sequence[CohortCriterion], contents: Mapping[str, DocumentContent]
) -> CohortPatient:
    """How a patient stands to each criterion; `contents` has the documents that may be shown."""
    newest = _newest_first(patient.documents, contents)
    standings = []
    for item, meeting in zip(criteria, patient.meeting, strict=True):
        if meeting:
            own = frozenset(meeting)
            shown = _meeting_sentences(item, [name for name in newest if name in own], contents)
            standings.append(CriterionStanding("met", _first(shown)))
        else:
            standings.append(_unmet(item, newest, contents))
    return CohortPatient(patient.patient, len(patient.documents), tuple(standings))


def _newest_first(documents: Sequence[str], contents: Mapping[str, DocumentContent]) -> list[str]:
    shown = sorted(name for name in documents if name in contents)
    return sorted(shown, key=lambda name: contents[name].day or date.min, reverse=True)  # ties stay in order of id


def _meeting_sentences(
    item: CohortCriterion, documents: Sequence[str], contents: Mapping[str, DocumentContent]
) -> Iterator[CohortEvidence]:
    keys = [assertion_key(concept, item.assertion) for concept in item.concepts]
    for name in documents:
        for key in keys:
            yield from _stated(key, [name], contents)
    if item.words:
        phrases = wanted_phrases(item.words)
        for name in documents:
            for passage in contents[name].passages:
                for sentence, mark in sentences_with(passage.text, phrases):
                    yield _evidence(contents[name], passage, sentence.start, sentence.end, mark)
    if not (item.concepts or item.words):
        for name in documents:
            opening = contents[name].opening
            first = sentences(opening.text)[:1] if opening else []
            if opening and first:
                yield _evidence(contents[name], opening, first[0].start, first[0].end, Span(0, 0))


def _unmet(
    item: CohortCriterion, documents: Sequence[str], contents: Mapping[str, DocumentContent]
) -> CriterionStanding:
    """What the documents say instead. Of several concepts all must be ruled out for the criterion to be ruled out."""
    mentioned = frozenset[str]().union(*(contents[name].concepts for name in documents))
    asked = [concept for concept in item.concepts if concept in mentioned]
    found = [_unmet_concept(concept, item.assertion, documents, contents) for concept in asked]
    found = [one for one in found if one.standing != "not-mentioned"]
    if not found:
        return CriterionStanding("not-mentioned")
    standings = {one.standing for one in found}
    standing: Standing = "other"
    if "uncertain" in standings:
        standing = "uncertain"
    elif standings == {"ruled-out"} and len(found) == len(item.concepts):
        standing = "ruled-out"
    shown = (one.evidence for one in found if standing in ("other", one.standing))
    newest = sorted(chain(*shown), key=lambda one: one.date or date.min, reverse=True)
    return CriterionStanding(standing, _first(newest))


def _unmet_concept(
    concept: str, assertion: str, documents: Sequence[str], contents: Mapping[str, DocumentContent]
) -> CriterionStanding:
    for name in documents:
        for denial, standing in _DENIALS.items():
            key = assertion_key(concept, denial)
            if denial != assertion and key in contents[name].by_key:
                return CriterionStanding(standing, _first(_stated(key, documents, contents)))
    others = [
        evidence
        for name in documents
        for other in ASSERTIONS
        for evidence in _stated(assertion_key(concept, other), [name], contents)
    ]
    return CriterionStanding("other", _first(others)) if others else CriterionStanding("not-mentioned")


def _stated(key: str, documents: Sequence[str], contents: Mapping[str, DocumentContent]) -> Iterator[CohortEvidence]:
    for name in documents:
        for passage, mention in contents[name].by_key.get(key, ()):
            start, end = mention.sentence_start, mention.sentence_end
            mark = Span(mention.start - start, mention.end - start)
            yield _evidence(contents[name], passage, start, end, mark, mention)


def _evidence(
    content: DocumentContent, passage: Passage, start: int, end: int, mark: Span, mention: PassageMention | None = None
) -> CohortEvidence:
    return CohortEvidence(
        document=passage.document,
        passage=passage.id,
        date=content.day,
        type=str(content.fields.get("type", "")),
        title=passage.title,
        heading=passage.heading,
        text=passage.text[start:end],
        start=start,
        end=end,
        mark=mark,
        concept=mention.concept if mention else "",
        assertion=mention.assertion if mention else "",
    )


def _first(found: Iterable[CohortEvidence]) -> tuple[CohortEvidence, ...]:
    """The first sentences, each once."""
    kept: dict[tuple[str, int], CohortEvidence] = {}
    for item in found:
        kept.setdefault((item.passage, item.start), item)
        if len(kept) == MAX_SENTENCES:
            break
    return tuple(kept.values())

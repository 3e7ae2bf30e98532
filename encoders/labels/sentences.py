"""The distinct sentences of X-ray reports, the findings each states, and the two folds (RADIOLOGY, R3 and R5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.split import is_test_note
from mappings.analysis.mentions.finding_lexicon import family
from mappings.analysis.mentions.findings import doubts, labels
from mappings.analysis.sentences import sentences
from mappings.collection import load
from mappings.datasets.indiana_cxr import ChestReport, read_reports
from mappings.datasets.mtsamples import read_notes
from mappings.errors import InvalidInput

INDIANA: Final = "indiana"
MTSAMPLES: Final = "mtsamples"
REPORTS: Final = (INDIANA, MTSAMPLES)
"""The collections of reports that are labelled: one can be trained on and the other measured."""
RADIOLOGY: Final = "Radiology"
FOLDS: Final = (1, 2)
_FIRST: Final = frozenset(
    [
        "atherosclerosis",
        "azygos lobe",
        "breast implant",
        "bronchiectasis",
        "bronchitis",
        "bronchovascular crowding",
        "calcified lymph node",
        "cardiomyopathy",
        "cervical rib",
        "colonic interposition",
        "diaphragmatic eventration",
        "dislocation",
        "enteric tube",
        "flattened diaphragm",
        "free air",
        "gallstones",
        "granulomatous disease",
        "heart failure",
        "hiatal hernia",
        "hilar enlargement",
        "lobectomy",
        "low lung volumes",
        "lung cancer",
        "mass",
        "mastectomy",
        "mediastinal mass",
        "mediastinal widening",
        "neurostimulator",
        "nodule",
        "opacity",
        "orthopedic hardware",
        "pacemaker",
        "pectus deformity",
        "pericardial fat pad",
        "pleural mass",
        "pleural plaque",
        "pleural thickening",
        "pneumonia",
        "pneumonitis",
        "pneumothorax",
        "pulmonary artery enlargement",
        "pulmonary edema",
        "pulmonary embolism",
        "right aortic arch",
        "sarcoidosis",
        "scoliosis",
        "artifact",
        "soft tissue abnormality",
        "spinal hardware",
        "stent",
        "subcutaneous emphysema",
        "suspicious lesion",
        "tortuous aorta",
        "tracheal deviation",
        "tuberculosis",
        "vascular congestion",
    ]
)
"""The families of fold 1; all others are in fold 2. They were chosen once so that both folds have about as many labels,
and are kept, so that a model trained on one fold has still not seen the other when the lexicon grows."""
_NUMBER: Final = re.compile(r"^[\[(<\s]*(?:\d{1,2}\s*[.)]\s*)?")
_BLANK: Final = re.compile(r"\b(?:xxxx|\d+)\b")


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence. `labels`: finding -> whether it is present; `doubts`: the findings that the sentence leaves open."""

    id: str
    text: str
    labels: Mapping[str, bool]
    doubts: frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class Concept:
    """What a query asks for: a finding that is present, or one that is absent."""

    finding: str
    present: bool

    @property
    def opposite(self) -> Concept:
        """The same finding with the opposite polarity."""
        return Concept(self.finding, not self.present)


def read_sentences(data: Path | None, reports: str = INDIANA, training: bool = False) -> list[LabelledSentence]:
    """The distinct sentences of the findings and impressions of `reports`: Indiana's, or MTSamples' notes of radiology.

    For `training` those of the notes that labelling leaves out are not among them. Raises `InvalidInput` for other reports,
    and as the readers do.
    """
    if reports not in REPORTS:
        raise InvalidInput(f"reports is {reports!r}; it is one of {', '.join(REPORTS)}", field="reports")
    return list(label_sentences(read_reports(data) if reports == INDIANA else _read_radiology(data, training)))


def _read_radiology(data: Path | None, training: bool) -> Iterator[ChestReport]:
    """The sections of MTSamples' notes of radiology, each as the findings of a report of its own."""
    collection = load("notes")
    for note in read_notes(data):
        if RADIOLOGY in note.specialties and not (training and is_test_note(note.id)):
            for number, section in enumerate(note.document(collection).sections):
                yield ChestReport(f"{note.id}.{number}", section.text, "")


def label_sentences(reports: Iterable[ChestReport]) -> Iterator[LabelledSentence]:
    """The sentences of reports, each wording once, without list numbers; text that is only blanked-out words is skipped."""
    seen: set[str] = set()
    for report in reports:
        for number, text in enumerate(_texts(report)):
            plain = normalise(text)
            if plain not in seen and _BLANK.sub("", plain).strip():
                seen.add(plain)
                yield LabelledSentence(f"{report.id}-{number}", text, labels(text), doubts(text))


def _texts(report: ChestReport) -> Iterator[str]:
    for text in (report.findings, report.impression):
        yield from (_NUMBER.sub("", text[item.start : item.end]) for item in sentences(text))


def match_concepts(found: Iterable[LabelledSentence]) -> dict[Concept, list[str]]:
    """Concept -> the ids of all sentences that match it, by name, present before absent."""
    matched: dict[Concept, list[str]] = {}
    for sentence in found:
        for finding, present in sentence.labels.items():
            matched.setdefault(Concept(finding, present), []).append(sentence.id)
    return {concept: matched[concept] for concept in sorted(matched, key=lambda item: (item.finding, not item.present))}


def assign_folds(matched: Mapping[Concept, Sequence[str]]) -> dict[str, int]:
    """Finding -> its fold, 1 or 2. Families stay whole, so that neither a finding nor any of its kinds is in both."""
    return {name: 1 if family(name) in _FIRST else 2 for name in sorted({concept.finding for concept in matched})}

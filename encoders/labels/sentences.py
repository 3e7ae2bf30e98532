"""The distinct sentences of chest X-ray reports, what each says of the findings, and the two folds of findings (RADIOLOGY, R3 and R5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.records import Record, records
from mappings.analysis.finding_lexicon import family
from mappings.analysis.findings import doubts, labels
from mappings.analysis.sentences import sentences

REPORTS: Final = "indiana_cxr/reports.jsonl.gz"
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
"""The families of fold 1; all others are in fold 2. Chosen once so that the folds have about as many labels, and kept, so that
a model trained on a fold stays untaught of the other when the lexicon grows."""
_FIELDS: Final = ("findings", "impression")
_NUMBER: Final = re.compile(r"^[\[(<\s]*(?:\d{1,2}\s*[.)]\s*)?")
_BLANK: Final = re.compile(r"\b(?:xxxx|\d+)\b")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence: finding -> whether it is there, and the findings it leaves open, which are neither there nor not."""

    id: str
    text: str
    labels: Mapping[str, bool]
    doubts: frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class Concept:
    """What a query asks for: a finding that is there, or one that is not."""

    finding: str
    present: bool

    @property
    def opposite(self) -> Concept:
        """The same finding, the other way round."""
        return Concept(self.finding, not self.present)


def reports(data: Path) -> list[Labelled]:
    """The distinct sentences of findings and impressions. Raises `NotFound` that names the file."""
    return list(labelled(records(data, REPORTS)))


def labelled(found: Iterable[Record]) -> Iterator[Labelled]:
    """The sentences of reports, each wording once, without the number of a list; blanks alone are no sentence."""
    seen: set[str] = set()
    for record in found:
        for number, text in enumerate(_texts(record)):
            plain = normalise(text)
            if plain not in seen and _BLANK.sub("", plain).strip():
                seen.add(plain)
                yield Labelled(f"{record['uid']}-{number}", text, labels(text), doubts(text))


def _texts(record: Record) -> Iterator[str]:
    for field in _FIELDS:
        text = record.get(field) or ""
        yield from (_NUMBER.sub("", text[item.start : item.end]) for item in sentences(text))


def concepts(found: Iterable[Labelled]) -> dict[Concept, list[str]]:
    """Concept -> the ids of all sentences that match it, by name; what is there before what is not."""
    matched: dict[Concept, list[str]] = {}
    for sentence in found:
        for finding, present in sentence.labels.items():
            matched.setdefault(Concept(finding, present), []).append(sentence.id)
    return {concept: matched[concept] for concept in sorted(matched, key=lambda item: (item.finding, not item.present))}


def folds(matched: Mapping[Concept, Sequence[str]]) -> dict[str, int]:
    """Finding -> its fold, 1 or 2, families whole, so that no finding and none of its kinds is in both."""
    return {name: 1 if family(name) in _FIRST else 2 for name in sorted({concept.finding for concept in matched})}

"""What a suite consists of: documents, questions, their answers, and what others published on it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, Protocol

from evaluation.measures import Judgements, Run
from mappings.documents import Document
from mappings.errors import InvalidInput

Unit = Literal["document", "passage"]
SAMPLE_SEED: Final = 20_120_717
CANDIDATE_FIELD: Final = "source"
"""Keyword field with the id of each document of a candidate protocol, so that a filter can select the candidates."""
SEPARATOR: Final = ", "
"""Between a system and the variant that marks its row."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as text, as the slots entity and aspect, or by what documents must say is present.

    A sample takes so many questions of each `stratum`, such as a year. It is not part of what identifies a report.
    """

    id: str
    text: str = ""
    entity: str = ""
    aspect: str = ""
    having: tuple[str, ...] = ()
    stratum: str = field(default="", repr=False)

    @property
    def words(self) -> str:
        """Text, entity, aspect and what must be present, in one string."""
        return " ".join(part for part in (self.text, self.entity, self.aspect, *self.having) if part)


@dataclass(frozen=True, slots=True)
class Published:
    """A row that others published; `measures` are fractions. `note` says how their set-up differs from ours.

    Raises `InvalidInput` without a note: a row beside ours without one would claim that the set-up is the same.
    """

    system: str
    source: str
    measures: Mapping[str, float]
    note: str

    def __post_init__(self) -> None:
        if not self.note.strip():
            raise InvalidInput(f"the published row {self.system!r} does not say how its set-up differs", field="note")

    def as_json(self) -> dict[str, object]:
        """The row as a JSON object."""
        return {"system": self.system, "source": self.source, "measures": dict(self.measures), "note": self.note}


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is indexed: `name` names its folder, `kind` its collection kind. Every document carries a label."""

    name: str
    kind: str
    documents: Callable[[], Iterable[Document]]


class Breakdown(Protocol):
    """What counts a system's rankings once more, such as by source."""

    def describe(self, system: str, run: Run, judgements: Judgements) -> dict[str, Any]:
        """The entry of a report's `breakdowns`."""


@dataclass(frozen=True, slots=True)
class Task:
    """Questions with judgements over one corpus.

    `unit` says what is judged: documents by id, or passages as `document#ordinal`. `candidates` is the re-ranking protocol:
    this many by BM25, true answers among them (see `stages.candidates`); None ranks everything. `variant` marks further rows
    of a suite; the main one has none. `strict` is a second, narrower set of judgements over the same rankings. The deciding
    one of `measures` comes first. `reference` adds the papers' TF-IDF and BM25 to our rows. `depth`: the legs are ranked to
    this depth where that is deeper than a search goes; fusion sees no more than in a search. `window`: the result window of
    its searches, where that of the settings is too small. `leads`: its rows come first in the report, because they have the
    set-up of the published rows. `encoder`: a bi-encoder that indexes the corpus instead of that of the collection kind;
    what it ranks is called the baseline, and nothing is reranked. `trained` says of the rows of models how what these were
    trained on is related to the questions. `breakdown` is asked about the last stage, and about every system that is no
    stage of a search. `whole` are the documents that passages stand in, each its passages by judged key, in order. `strata`
    says what a question's stratum is, such as "year": gains over the simple system are then told for each, too. `listed`:
    trained systems of papers rank the first so many documents of BM25+†, answers that it missed not among them; a bi-encoder
    ranks all. `pool` are the documents of which the candidates are drawn at random, instead of by BM25; `candidate_field`
    holds the id of a document.
    """

    suite: str
    corpus: Corpus
    questions: tuple[Question, ...]
    judgements: Judgements
    measures: tuple[str, ...]
    unit: Unit = "document"
    candidates: int | None = None
    variant: str = ""
    strict: Judgements | None = None
    published: tuple[Published, ...] = ()
    notes: tuple[str, ...] = ()
    reference: bool = False
    depth: int = 0
    window: int = 0
    leads: bool = False
    encoder: str = ""
    trained: str = ""
    breakdown: Breakdown | None = None
    strata: str = ""
    whole: Sequence[Mapping[str, str]] = field(default=(), repr=False)
    listed: int = field(default=0, repr=False)
    pool: tuple[str, ...] = field(default=(), repr=False)
    candidate_field: str = CANDIDATE_FIELD

    @property
    def answers(self) -> Judgements:
        """The judgements whose answers a candidate protocol adds: those without twins."""
        return self.judgements if self.strict is None else self.strict

    def sampled(self, number: int | None) -> Task:
        """The task on a fixed sample of its questions: the same ones on every machine and in every variant."""
        if number is None:
            return self
        strata: defaultdict[str, list[str]] = defaultdict(list)
        for item in self.questions:
            strata[item.stratum].append(item.id)
        chosen = {identifier for stratum in strata.values() for identifier in _sample(stratum, number)}
        questions = tuple(item for item in self.questions if item.id in chosen)
        if len(questions) == len(self.questions):
            return self
        return replace(
            self,
            questions=questions,
            judgements={item.id: self.judgements[item.id] for item in questions},
            strict={item.id: self.strict[item.id] for item in questions} if self.strict is not None else None,
        )

    def key(self, document: str, passage: str) -> str:
        """The name of a passage, or of its document, in the judgements."""
        return document if self.unit == "document" else passage_key(document, passage)


def _sample(identifiers: Sequence[str], number: int) -> Sequence[str]:
    if number >= len(identifiers):
        return identifiers
    return Random(SAMPLE_SEED).sample(sorted(identifiers), number)  # noqa: S311


def passage_key(document: str, passage: str) -> str:
    """`document#ordinal`: a passage without its version."""
    return f"{document}#{passage.rpartition('#')[2]}"


def folder_name(suite: str, folder: Path) -> str:
    """A collection name of its own for each folder: two folders with the same name must not replace each other's index."""
    path = folder.resolve()
    return f"{suite}-{re.sub('[^a-z0-9]+', '-', path.name.lower())[:40]}-{sha256(str(path).encode()).hexdigest()[:8]}"

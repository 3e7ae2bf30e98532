"""The suite `assertion`: what the rules of `mappings.clinical` say of marked mentions, against what their sentences mean.

The sentences are in `evaluation/sentences/*.tsv` (columns half, assertion, section, text with one `[[mention]]`). Rules may be
mended on the half `open`; the half `kept` is only counted, and no sentence of it is ever printed. Those of
`evaluation/sentences/further` were written later, by thirteen other hands; they are counted in rows of their own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.statistics import interval, ratio_interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from mappings.analysis.lexicon import LEXICONS, rows_of
from mappings.clinical.cue_rules import ASSERTIONS, marked
from mappings.clinical.reading import READING_VERSION, assertion_in
from mappings.errors import InvalidInput, NotFound
from search.settings import Settings

NAME: Final = "assertion"
FOLDER: Final = Path(__file__).parents[1] / "sentences"
FURTHER: Final = "further"
OPEN: Final = "open"
HALVES: Final = (OPEN, "kept")
SYSTEM: Final = "rules"
ACCURACY: Final = "accuracy"
F1: Final = "F1 of ruled-out"
_RULED_OUT: Final = "ruled-out"
_DATA: Final = ("assertion", "negation", "chronic", "headings", "sentence_ends")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A text with its mention at `start:end`, under the heading `section`, and the assertion that it means."""

    half: str
    assertion: str
    section: str
    text: str
    start: int
    end: int

    def read(self) -> str:
        """The assertion that the rules give."""
        return assertion_in(self.text, self.start, self.end, self.section)


class AssertionSuite:
    """The suite, which searches no collection and needs no model. `folder` holds the sentences."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `NotFound` without sentences, `InvalidInput` for malformed ones."""
        started = time.perf_counter()
        every = self._chosen(options)
        sentences = _sampled(every, options.queries)
        answers = []
        for number, sentence in enumerate(sentences, 1):
            answers.append(sentence.read())
            if progress:
                progress(number, len(sentences))
        sample = {"queries": len(sentences), "of": len(every), "fixed": True}
        return {
            "suite": NAME,
            "collection": "",
            "queries": len(sentences),
            "sample": sample if len(sentences) < len(every) else None,
            "rows": [*_rows(sentences, answers, options.variants), *self._further_rows(options)],
            "tests": [],
            "published": [],
            "notes": [*_NOTES, *(_mistakes(sentences, answers) if options.mistakes else ())],
            "command": command(NAME, options),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def _further_rows(self, options: SuiteOptions) -> Iterator[Report]:
        """A row over the further sentences of each half; none for a sample."""
        folder = self.folder / FURTHER
        if not options.variants or options.queries or not folder.is_dir():
            return
        sentences = load_sentences(folder)
        for half in HALVES if not options.half else [options.half]:
            chosen = [item for item in sentences if item.half == half]
            meant, said = np.array([item.assertion for item in chosen]), np.array([item.read() for item in chosen])
            yield _row(f"{SYSTEM}, {FURTHER}, {half}", meant, said)

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Nothing to open: the rules are no model."""

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: sentences and rules."""
        sentences = [str(item) for item in _sampled(self._chosen(options), options.queries)]
        further = [path.read_text(encoding="utf-8") for path in sorted((self.folder / FURTHER).glob("*.tsv"))]
        rules = [sha256((LEXICONS / f"{name}.tsv").read_bytes()).hexdigest() for name in _DATA]
        return command(NAME, options), [sentences, further, rules, READING_VERSION, options.mistakes]

    def _chosen(self, options: SuiteOptions) -> list[MarkedSentence]:
        if options.half not in ("", *HALVES):
            raise InvalidInput(f"half is {options.half!r}; it is one of {', '.join(HALVES)}", field="half")
        if options.mistakes and options.half not in ("", OPEN):
            raise InvalidInput(f"mistakes are printed for the half {OPEN!r} only", field="mistakes")
        return [item for item in load_sentences(self.folder) if options.half in ("", item.half)]


SUITE: Final = Suite(
    NAME,
    "what a sentence asserts of a mention: present, ruled out, uncertain, hypothetical, historical, family",
    options=("half", "mistakes"),
    standalone=AssertionSuite(),
)
_NOTES: Final = (
    "accuracy: the share of mentions with the right one of the six assertions; by assertion, of the mentions that have it",
    "the rules may be mended on the open half; the kept half is only counted",
)


def load_sentences(folder: Path) -> list[MarkedSentence]:
    """The sentences of all files of a folder. Raises `NotFound` if there are none, `InvalidInput` with file and line."""
    found = [_sentence(path, number, row) for path in sorted(folder.glob("*.tsv")) for number, row in rows_of(path)]
    if not found:
        raise NotFound(f"there are no sentences in {folder}: it has no file *.tsv with rows", field="folder")
    return found


def _sentence(path: Path, number: int, row: tuple[str, ...]) -> MarkedSentence:
    place = f"{path.name}:{number}"
    if len(row) != 4:
        raise InvalidInput(
            f"{place}: a row has 4 columns (half, assertion, section, text), not {len(row)}", field="row"
        )
    half, assertion, section, text = row
    if half not in HALVES:
        raise InvalidInput(f"{place}: the half {half!r} is not one of {', '.join(HALVES)}", field="half")
    if assertion not in ASSERTIONS:
        raise InvalidInput(f"{place}: {assertion!r} is not one of {', '.join(ASSERTIONS)}", field="assertion")
    mention = marked(text)
    if mention is None:
        raise InvalidInput(f"{place}: the text needs one mention in [[ ]]", field="text")
    return MarkedSentence(half, assertion, section.strip("-"), *mention)


def _sampled(sentences: Sequence[MarkedSentence], size: int | None) -> list[MarkedSentence]:
    """A fixed sample: the same whatever the order of the files."""
    if size is None or size >= len(sentences):
        return list(sentences)
    return sorted(sentences, key=lambda item: sha256(str(item).encode()).digest())[:size]


def _rows(sentences: Sequence[MarkedSentence], answers: Sequence[str], variants: bool) -> Iterator[Report]:
    """A row over all, one for each half, and one for each assertion."""
    meant = np.array([item.assertion for item in sentences])
    halves = np.array([item.half for item in sentences])
    said = np.array(answers)
    yield _row(SYSTEM, meant, said)
    for half in HALVES if variants else ():
        which = halves == half
        if which.any() and not which.all():
            yield _row(f"{SYSTEM}, {half}", meant[which], said[which])
    for assertion in ASSERTIONS if variants else ():
        which = meant == assertion
        if which.any():
            right = (said[which] == assertion).astype(float)
            yield {"system": f"{SYSTEM}: {assertion}", "measures": {ACCURACY: interval(right).as_json()}}


def _row(system: str, meant: Any, said: Any) -> Report:
    hits = ((meant == _RULED_OUT) & (said == _RULED_OUT)).astype(float)
    either = ((meant == _RULED_OUT).astype(float) + (said == _RULED_OUT).astype(float)) / 2
    measures = {ACCURACY: interval((meant == said).astype(float)).as_json()}
    if either.any():
        measures[F1] = ratio_interval(hits, either).as_json()
    return {"system": system, "measures": measures}


def _mistakes(sentences: Sequence[MarkedSentence], answers: Sequence[str]) -> Iterator[str]:
    for item, answer in zip(sentences, answers, strict=True):
        if item.half == OPEN and answer != item.assertion:
            text = f"{item.text[: item.start]}[[{item.text[item.start : item.end]}]]{item.text[item.end :]}"
            under = f" under {item.section!r}" if item.section else ""
            yield f"{answer}, not {item.assertion}{under}: {text}"

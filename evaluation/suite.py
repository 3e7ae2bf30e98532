"""What a suite declares: its tasks, the options it knows beyond the common ones, and how `evaluate all` runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Protocol

from evaluation.task import Corpus, Task
from mappings.analysis.abstract_excerpt import EXCERPTS, AbstractExcerpt, excerpt
from mappings.errors import InvalidInput
from search.settings import Settings

Report = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""
COMMON: Final = frozenset({"queries", "rerank", "variants", "simple"})
"""The options that every suite knows."""


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options of a run. A suite refuses those that it does not declare in `Suite.options`.

    Every suite: `queries`, a fixed sample of this many; `rerank`, whether the cross-encoder takes part; `variants`, whether
    further rows (titles, slots, strict) are printed; `simple`, whether the simple system ranks the main task, too
    (`evaluation.baselines.simple`). Some: `folder`, `split` and `kind` of judgements of your own; `collection` of the home;
    `full`, no candidate protocol; `distractors`, the pool joins the corpus; `reading`, how much of an abstract is read
    (`mappings.analysis.abstract_excerpt`); `folds`, `across` and `baseline`, further bi-encoders; `systems`, a folder of
    trained systems of papers; `reports`, the collection whose sentences are ranked; `half` of the sentences, and whether
    `mistakes` are printed; `year` of the questions. Raises `InvalidInput`.
    """

    queries: int | None = None
    rerank: bool = True
    variants: bool = True
    simple: bool = False
    folder: Path | None = None
    split: str = "test"
    kind: str = "abstracts"
    full: bool = False
    distractors: bool = False
    reading: AbstractExcerpt = "whole"
    folds: Path | None = None
    baseline: str = ""
    across: str = ""
    reports: str = "indiana"
    systems: Path | None = None
    collection: str = ""
    half: str = ""
    mistakes: bool = False
    year: int | None = None

    def __post_init__(self) -> None:
        if self.queries is not None and self.queries < 1:
            raise InvalidInput(f"queries is {self.queries}; a sample has 1 or more", field="queries")
        if self.reading not in EXCERPTS:
            raise InvalidInput(f"reading is {self.reading!r}; it is one of {', '.join(EXCERPTS)}", field="reading")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the options that differ from their defaults, without the common ones."""
        return tuple(item.name for item in fields(self) if item.name not in COMMON and self._differs(item.name))

    def only(self, names: Sequence[str]) -> SuiteOptions:
        """The common options and those of `names`; all others have their defaults."""
        kept = {name: getattr(self, name) for name in (*COMMON, *names)}
        return SuiteOptions(**kept)

    def _differs(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(SuiteOptions(), name))


class Standalone(Protocol):
    """A suite that measures by itself: it does not search a collection."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None) -> Report:
        """The report in the stable JSON form."""

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where one of its models can't be opened."""

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and everything that decides it, as JSON."""


def _no_tasks(settings: Settings, options: SuiteOptions) -> Sequence[Task]:
    return ()


@dataclass(frozen=True, slots=True)
class Suite:
    """A named suite. `tasks` are its rows, the main task first; a `standalone` one has none.

    `options` are the options it knows beyond the common ones. `forms` are the options with which `evaluate all` runs it,
    one run each; `quick`: whether `evaluate all --quick` runs the first of them. `in_all` are the options that
    `evaluate all` accepts for this suite alone.
    """

    name: str
    summary: str
    tasks: Callable[[Settings, SuiteOptions], Sequence[Task]] = _no_tasks
    options: tuple[str, ...] = ()
    forms: Sequence[Mapping[str, Any]] = ({},)
    quick: bool = True
    in_all: tuple[str, ...] = ()
    standalone: Standalone | None = None


POOLED: Final[Sequence[Mapping[str, Any]]] = ({}, {"distractors": True})
"""The forms of a suite that runs over its own corpus and over that corpus with the pool."""


def spell_option(option: str) -> str:
    """The option as it is written on the command line."""
    return f"a {option}" if option in {"folder", "collection"} else f"--{option}"


def command(suite: str, options: SuiteOptions) -> str:
    """The command line that prints the report of a suite."""
    words = ["medley evaluate", suite]
    words += [options.folder.name] if options.folder else []
    words += [options.collection] if options.collection else []
    words += [f"--kind {options.kind}"] if options.kind != SuiteOptions().kind else []
    words += [f"--queries {options.queries}"] if options.queries else []
    words += [f"--split {options.split}"] if options.split != SuiteOptions().split else []
    words += [f"--reading {options.reading}"] if options.reading != "whole" else []
    words += [f"--folds {options.folds.name}"] if options.folds else []
    words += [f"--across {Path(options.across).name}"] if options.across else []
    words += [f"--reports {options.reports}"] if options.reports != SuiteOptions().reports else []
    words += [f"--baseline {Path(options.baseline).name}"] if options.baseline else []
    words += [f"--systems {options.systems.name}"] if options.systems else []
    words += [f"--half {options.half}"] if options.half else []
    words += [f"--year {options.year}"] if options.year else []
    flags = {
        "--full": options.full,
        "--distractors": options.distractors,
        "--mistakes": options.mistakes,
        "--simple": options.simple,
    }
    flags |= {"--no-rerank": not options.rerank, "--no-variants": not options.variants}
    return " ".join([*words, *(flag for flag, given in flags.items() if given)])


def read_in_part(task: Task, reading: AbstractExcerpt) -> Sequence[Task]:
    """The task over abstracts of which only a part is read: a corpus of its own, and rows that say so."""
    if reading == "whole":
        return [task]
    corpus = task.corpus
    name = f"{corpus.name}-reading-{reading.lower()}"
    part = Corpus(name, corpus.kind, lambda: (excerpt(document, reading) for document in corpus.documents()))
    note = f"reading {reading}: every stage reads that part of an abstract only"
    return [replace(task, corpus=part, variant=f"reading {reading}", notes=(*task.notes, note), reference=False)]

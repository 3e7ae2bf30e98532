"""The simple system that training has to beat: BM25 beside the vectors of MiniLM as it was published, at equal shares.

Both legs rank passages of windows of 60 words; a score is a fraction between the query's worst and best of its leg.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from encoders.artifact import MANIFEST
from evaluation import stages
from evaluation.corpus.index import home, open_corpus
from evaluation.measures import Run
from evaluation.stages import SIMPLE
from evaluation.task import Task
from mappings import collection as kinds
from mappings.errors import Unavailable
from search.engines.embedded.layout import write_atomic
from search.home import open_home
from search.settings import Settings

WINDOW_WORDS: Final = 60
MODEL: Final = "minilm"
"""The base that is exported, and the name of the model directory."""
INSTALL: Final = "pip install -e '.[cpu,train,eval]'"
GATE_SENTENCES: Final = Path(__file__).parents[1] / "sentences" / "assertion-1.tsv"
GATE_PAIRS: Final = 64
GATE_STEP: Final = 8
_FUSION: Final = {"method": "weighted", "normalisation": "minmax", "weights": {stages.BM25: 0.5, stages.DENSE: 0.5}}


def rank_simple(
    task: Task, settings: Settings, progress: stages.Progress | None = None, model: Path | None = None
) -> Run:
    """Question -> judged keys, best first, of the simple system. Shape of each ranking: as deep as a search goes.

    The corpus is indexed a second time, by untrained MiniLM, or by the model directory `model`. Raises `Unavailable` where
    MiniLM is not installed.
    """
    settings = simple_settings(task, settings, model)
    corpus = replace(task.corpus, name=f"{task.corpus.name}-{SIMPLE}", kind=f"{SIMPLE}-{task.corpus.kind}")
    session = stages.Session(open_corpus(corpus, settings), replace(task, corpus=corpus), None)
    found = {}
    for number, question in enumerate(task.questions, 1):
        retrieved = stages.retrieve_question(session, question)
        found[question.id] = stages.judged_keys(task, retrieved.candidates)
        if progress:
            progress(number, len(task.questions))
    return found


def simple_settings(task: Task, settings: Settings, model: Path | None = None) -> Settings:
    """The settings under which the simple system indexes and searches the corpus of a task."""
    import tomli_w  # of the extra "eval"

    folder = home(settings).home / SIMPLE
    open_home(folder.parent)
    model = model or export_minilm(folder / "models" / MODEL)
    file = folder / "kinds" / f"{SIMPLE}-{task.corpus.kind}.toml"
    text = tomli_w.dumps(kind_of(task.corpus.kind, model, settings.collections))
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text.encode())
    return replace(settings, collections=file.parent, encoder="", models=model.parent)


def kind_of(kind: str, model: Path, extra: Path | None = None) -> dict[str, Any]:
    """The table of a collection kind, changed to that of the simple system."""
    table = tomllib.loads(kinds.kinds(extra)[kind].read_text(encoding="utf-8"))
    passages = {key: value for key, value in table["passages"].items() if key != "marking"}
    changed = {name: value for name, value in table.items() if name not in ("feedback", "reads_queries")}
    return changed | {
        "passages": passages | {"window_words": WINDOW_WORDS},
        "vectors": {stages.DENSE: model.name},
        "fusion": _FUSION,
    }


def export_minilm(folder: Path) -> Path:
    """The model directory of untrained MiniLM at `folder`, written when it is first needed."""
    if not (folder / MANIFEST).is_file():
        try:
            from encoders.training.architectures.bases import describe_base, resolve_base
            from encoders.training.export.writer import write_artifact
            from encoders.training.runs.parents import read_source_ancestry
        except ImportError as error:
            raise Unavailable(f"the simple system needs {error.name}: {INSTALL}") from error
        card = {"name": MODEL} | describe_base(MODEL)
        ancestry = read_source_ancestry(MODEL)
        artifact = write_artifact(resolve_base(MODEL), "bi-encoder", folder, card, list(_gate_texts()))
        ancestry.write(folder, artifact.fingerprint)
    return folder


def _gate_texts() -> Iterator[tuple[str, str]]:
    """Texts that the export is compared on, always the same ones: a sentence, and the next ones as a passage."""
    lines = [line.rpartition("\t")[2] for line in GATE_SENTENCES.read_text(encoding="utf-8").splitlines()]
    texts = [line.replace("[[", "").replace("]]", "") for line in lines if not line.startswith("#")]
    for start in range(0, GATE_PAIRS * GATE_STEP, GATE_STEP):
        yield texts[start], " ".join(texts[start + 1 : start + GATE_STEP])

"""`medley bench rerank` and `medley bench encode`: this project's runtime beside sentence-transformers.

Both run the same weights, restored from the artifact, on the same texts at the same lengths, in turns within one run;
a figure is the median over the rounds. sentence-transformers sorts by length and gets all inputs at once, its best case.
Of a cross-encoder whose head it does not know it runs the backbone under a plain one; the agreement is then with torch.
"""

from __future__ import annotations

import importlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime as ort

from encoders.artifact import SHIPPED, Artifact, find
from encoders.pooling import Floats
from encoders.runtime import BiEncoder, CrossEncoder
from encoders.text import ModelTokenizer
from evaluation.bench.search import machine, percentiles
from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings

Report = dict[str, Any]
Runs = Mapping[str, Callable[[], Any]]
ENCODER: Final = "medley-biencoder"
RERANKER: Final = "medley-crossencoder"
REFERENCE: Final = "sentence_transformers"
MODULES: Final = "sentence_transformers.models"
TEXTS: Final = 96
ROUNDS: Final = 5
BATCH: Final = 32
SHORT_QUERIES: Final = 100

QUERIES: Final = (
    "Does low-dose aspirin lower the risk of a second stroke?",
    "side effects of metformin in patients with renal impairment",
)
SENTENCES: Final = (
    "Participants were randomly assigned in a one-to-one ratio to receive aspirin 100 mg daily or matching placebo.",
    "The primary outcome was recurrent ischaemic stroke within two years, adjudicated by a committee blinded to groups.",
    "Major bleeding occurred in 3.1% of the treated patients and in 1.8% of the controls (hazard ratio 1.71, p = 0.02).",
    "Renal function was estimated by the CKD-EPI equation, and patients with an eGFR below 30 ml/min were excluded.",
    "Metformin was associated with a lower incidence of cardiovascular events in adults with type 2 diabetes.",
    "Gastrointestinal complaints, chiefly diarrhoea and nausea, led to discontinuation in one of twenty patients.",
    "We searched four databases for cohort studies published before 2019 and pooled the estimates by random effects.",
    "The chest radiograph shows no pneumothorax; a small left pleural effusion is unchanged since the prior study.",
    "Mice lacking the receptor developed severe colitis and lost weight faster than their wild-type littermates.",
    "Vaccination coverage among health-care workers rose from 41% to 68% over three consecutive influenza seasons.",
    "Serum ferritin and transferrin saturation were measured at baseline and again after twelve weeks of therapy.",
    "These findings suggest that early mobilisation shortens the stay in intensive care without raising mortality.",
    "Gene expression in biopsies of the lung was profiled by RNA sequencing and confirmed by quantitative PCR.",
    "The patient denies chest pain, dyspnoea and palpitations, and takes lisinopril for long-standing hypertension.",
    "Sensitivity was 0.87 and specificity 0.79 at the threshold that was chosen in the derivation cohort.",
    "Limitations include the open-label design, the short follow-up and the small number of women enrolled.",
)
COUNTS: Final = (2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 10, 11)
"""Sentences of a passage, in turn: with a query 177 tokens on average, 55 to 256, as abstracts and sections have."""


def bench_rerank(settings: Settings) -> Report:
    """Pairs per second of the cross-encoder, `speed_ratio` to sentence-transformers, and the agreement of scores."""
    artifact = artifact_of(settings, settings.reranker or RERANKER, "cross-encoder")
    share = TEXTS // len(QUERIES)
    work = [(query, passages(share, seed)) for seed, query in enumerate(QUERIES)]
    pairs = [(query, text) for query, texts in work for text in texts]
    models = {form: CrossEncoder(artifact, settings.threads or None, form) for form in artifact.processor_forms}

    def ours(model: CrossEncoder) -> Any:
        return np.concatenate([model.score(query, texts) for query, texts in work])

    with reference(artifact) as theirs:
        runs: dict[str, Callable[[], Any]] = {form: partial(ours, model) for form, model in models.items()}
        runs[REFERENCE] = partial(theirs.predict, pairs, batch_size=BATCH, show_progress_bar=False)
        seconds, answers = interleaved(runs)
    chosen = CrossEncoder(artifact, settings.threads or None, settings.form or None).form
    figures = _figures(seconds, chosen) | {
        "spearman": spearman(answers[chosen], _exact(artifact, pairs, answers[REFERENCE]))
    }
    return _report("rerank", artifact, chosen, pairs, figures)


def bench_encode(settings: Settings) -> Report:
    """Passages per second of the bi-encoder, `speed_ratio`, agreement of similarities, and a short query's time."""
    artifact = artifact_of(settings, settings.encoder or ENCODER, "bi-encoder")
    texts = [f"{QUERIES[0]} {text}" for text in passages(TEXTS, seed=0)]
    models = {form: BiEncoder(artifact, settings.threads or None, form) for form in artifact.processor_forms}
    with reference(artifact) as theirs:
        runs: dict[str, Callable[[], Any]] = {
            form: partial(model.encode_passages, texts) for form, model in models.items()
        }
        runs[REFERENCE] = partial(theirs.encode, texts, batch_size=BATCH, show_progress_bar=False)
        seconds, answers = interleaved(runs)
    chosen = BiEncoder(artifact, settings.threads or None, settings.form or None)
    figures = _figures(seconds, chosen.form) | {
        "spearman": spearman(_similarities(answers[chosen.form]), _similarities(answers[REFERENCE])),
        **_query_times(chosen),
    }
    return _report("encode", artifact, chosen.form, [("", text) for text in texts], figures)


def passages(count: int, seed: int) -> list[str]:
    """Texts of unlike lengths and contents, the same in every run."""
    draw = random.Random(seed)  # noqa: S311 - a fixed sequence is what is wanted
    return [" ".join(draw.sample(SENTENCES, number)) for number in islice(cycle(COUNTS), count)]


def interleaved(runs: Runs, rounds: int = ROUNDS) -> tuple[dict[str, float], dict[str, Any]]:
    """(median seconds, answer) of each run, taken in turns after one round to warm up."""
    answers = {name: run() for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}, answers


def spearman(left: Floats, right: Floats) -> float:
    """Rank correlation of scores without ties."""
    first, second = (np.argsort(np.argsort(values)).astype(float) for values in (left, right))
    return float(np.corrcoef(first, second)[0, 1])


def model_folders(settings: Settings) -> list[Path]:
    """Where models are looked for, in order."""
    return [folder for folder in (settings.models, SHIPPED) if folder is not None]


def artifact_of(settings: Settings, name: str, kind: str) -> Artifact:
    """The verified directory of a model. Raises `NotFound`, `InvalidInput` for one of another kind."""
    artifact = Artifact.open(find(name, model_folders(settings)))
    if artifact.kind != kind:
        raise InvalidInput(f"this bench measures a {kind}; {name} is a {artifact.kind}", field="model")
    return artifact


@contextmanager
def reference(artifact: Artifact) -> Iterator[Any]:
    """The artifact's own weights in sentence-transformers, in fp32 on the CPU. Raises `Unavailable` without it."""
    try:
        theirs: Any = importlib.import_module(REFERENCE)
        restore = importlib.import_module("encoders.training.export.restore").restore
        save = importlib.import_module("encoders.training.architectures.checkpoint").save_checkpoint
    except ImportError as error:
        raise Unavailable(
            f"this bench compares with sentence-transformers and needs {error.name}: pip install -e '.[cpu,train,bench]'"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = restore(artifact)
        if artifact.queries() is not artifact:
            raise InvalidInput(f"{artifact.name} has a second tower, sentence-transformers one only", field="model")
        if not _knows_head(checkpoint):
            checkpoint = importlib.import_module("encoders.training.export.yardstick").classifier(checkpoint)
        save(checkpoint.model, checkpoint.tokenizer, Path(folder))
        yield _cross(theirs, artifact, folder) if artifact.kind == "cross-encoder" else _bi(theirs, artifact, folder)


def _knows_head(checkpoint: Any) -> bool:
    return bool(checkpoint.architecture.head == "cls")


def _exact(artifact: Artifact, pairs: Sequence[tuple[str, str]], theirs: Floats) -> Floats:
    """What the weights score in fp32: sentence-transformers' answer where it knows the head, torch's otherwise."""
    if _knows_head(importlib.import_module("encoders.training.export.restore").restore(artifact)):
        return theirs
    found: Floats = importlib.import_module("encoders.training.export.yardstick").scores(artifact, pairs)
    return found


def _cross(theirs: Any, artifact: Artifact, folder: str) -> Any:
    return theirs.CrossEncoder(folder, max_length=artifact.reading.passage_tokens, device="cpu")


def _bi(theirs: Any, artifact: Artifact, folder: str) -> Any:
    """Read as a directory in sentence-transformers' own form, which every version of it reads."""
    parts = ("Transformer", "Pooling", "Normalize")
    modules = [
        {"idx": number, "name": str(number), "path": f"{number}_{part}" if number else "", "type": f"{MODULES}.{part}"}
        for number, part in enumerate(parts)
    ]
    pooling = {
        "word_embedding_dimension": artifact.dimension,
        "pooling_mode_mean_tokens": artifact.reading.pooling == "mean",
        "pooling_mode_cls_token": artifact.reading.pooling == "cls",
    }
    root = Path(folder)
    _json(root / "modules.json", modules)
    _json(root / "sentence_bert_config.json", {"max_seq_length": artifact.reading.passage_tokens})
    _json(root / "1_Pooling" / "config.json", pooling)
    (root / "2_Normalize").mkdir()
    return theirs.SentenceTransformer(folder, device="cpu")


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def _similarities(vectors: Floats) -> Floats:
    return np.asarray((vectors @ vectors.T)[np.triu_indices(len(vectors), 1)])


def _query_times(encoder: BiEncoder) -> dict[str, float]:
    queries = [f"{QUERIES[number % len(QUERIES)]} {number}" for number in range(SHORT_QUERIES)]
    times = []
    for query in queries:
        started = time.perf_counter()
        encoder.encode_queries([query])
        times.append(1000 * (time.perf_counter() - started))
    return {f"query_{name}": value for name, value in percentiles(times).items() if name.endswith("_ms")}


def _figures(seconds: Mapping[str, float], chosen: str) -> dict[str, float]:
    rates = {f"{name}_per_second": TEXTS / value for name, value in seconds.items()}
    return {"speed_ratio": seconds[REFERENCE] / seconds[chosen], **rates}


def _report(
    name: str, artifact: Artifact, form: str, pairs: Sequence[tuple[str, str]], figures: Mapping[str, float]
) -> Report:
    tokenizer = ModelTokenizer(Path(artifact.folder) / "tokenizer.json", artifact.reading)
    lengths = [len(tokens) for tokens in tokenizer.tokenize_inputs(artifact.kind, pairs)]
    gate = artifact.manifest.get("gate", {}).get("forms", {}).get(form, {})
    whole = {**figures, "tokens_mean": float(np.mean(lengths)), "tokens_longest": float(max(lengths))}
    if "spearman" in gate:
        whole["gate_spearman"] = gate["spearman"]
    about = {**machine(), "model": artifact.name, "form": form, "onnxruntime": ort.__version__}
    return {"bench": name, "machine": about, "figures": {key: round(value, 4) for key, value in whole.items()}}

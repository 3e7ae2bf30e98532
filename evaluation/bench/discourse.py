"""`medley bench discourse`: a discourse model reads documents beside the bi-encoder, and what its leg costs a search."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from encoders.discourse.encoder import DiscourseEncoder
from encoders.onnx import ort
from encoders.runtime import BiEncoder
from evaluation.bench.shared.discourse_index import fill_index, time_searches
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.models import ENCODER, open_artifact
from evaluation.bench.shared.workload import passages, run_in_turns
from mappings.errors import ModelError
from search.bootstrap import Medley
from search.models.discourse import NONE, SETTING
from search.models.registry import HASHING, Models
from search.settings import Settings

DOCUMENTS: Final = 60
PASSAGES: Final = 6
"""Of each document: 41 sentences on average, about as many as an article of CDV's training set has (43.5)."""
INDEXED: Final = 40_000
SEARCHES: Final = 60


def bench_discourse(settings: Settings) -> Report:
    """`speed_ratio`, the bi-encoder's time over the discourse model's for the same passages, and `sentences_per_second`.

    Of a search over `INDEXED` passages, `leg_ms` is what the leg adds to its median, `p50_ratio` the median without the leg
    over that with it. The discourse model is the one that `MEDLEY_DISCOURSE` names, the bi-encoder the shipped one. Raises
    `ModelError` for a folder that is no discourse model.
    """
    if settings.discourse in ("", NONE):
        raise ModelError(
            "no discourse model is shipped: train one by `medley train cdv-fasttext`, and name its folder `model` by"
            f" {SETTING}",
            field=SETTING,
        )
    encoder = Models(settings).discourse.get(settings.discourse)
    figures, about = _bench_reading(encoder, settings)
    return bench_report("discourse", figures | _bench_leg(settings), about)


def _bench_leg(settings: Settings) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        own = replace(
            settings, home=Path(folder) / "home", encoder=HASHING, reranker="none", opensearch="", inference=""
        )
        medley = Medley.open(own)
        fill_index(medley, INDEXED // PASSAGES, PASSAGES)
        times = time_searches(medley, SEARCHES)
    without, with_leg = (float(np.median(times[name])) for name in ("without", "with"))
    return {
        "leg_ms": with_leg - without,
        "search_p50_ms": with_leg,
        "p50_ratio": without / with_leg,
        "passages": float(INDEXED // PASSAGES * PASSAGES),
    }


def _bench_reading(encoder: DiscourseEncoder, settings: Settings) -> tuple[dict[str, float], dict[str, str]]:
    threads = settings.threads or None
    beside = open_artifact(settings, ENCODER, "bi-encoder")
    dense = BiEncoder(beside, threads, settings.form or None)
    texts = passages(DOCUMENTS * PASSAGES, seed=0)
    documents = [texts[start : start + PASSAGES] for start in range(0, len(texts), PASSAGES)]
    seconds, answers = run_in_turns(
        {
            "discourse": partial(encoder.encode_documents, documents),
            "dense": partial(dense.encode_passages, texts),
        }
    )
    sentences = sum(len(item.vectors) for item in answers["discourse"])
    figures = {
        "speed_ratio": seconds["dense"] / seconds["discourse"],
        "sentences_per_second": sentences / seconds["discourse"],
        "sentences_per_document": sentences / len(documents),
    }
    about = {"model": encoder.name, "beside": beside.name, "beside_form": dense.form}
    return figures, {**about, "onnxruntime": ort.__version__}

"""`medley bench discourse`: a discourse model reads documents beside the bi-encoder, in one run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from encoders.discourse.encoder import DiscourseEncoder
from encoders.onnx import ort
from encoders.runtime import BiEncoder
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.models import ENCODER, open_artifact
from evaluation.bench.shared.workload import passages, run_in_turns
from mappings.errors import ModelError
from search.settings import Settings

DOCUMENTS: Final = 60
PASSAGES: Final = 6
"""Of each document: 41 sentences on average, about as many as an article of CDV's training set has (43.5)."""


def bench_discourse(settings: Settings) -> Report:
    """`speed_ratio`, the bi-encoder's time over the discourse model's for the same passages, and `sentences_per_second`.

    The discourse model is the folder that `MEDLEY_ENCODER` names, the bi-encoder the shipped one. Raises `ModelError` for
    a folder that is no discourse model.
    """
    if not settings.encoder:
        raise ModelError(
            "no discourse model is shipped: train one by `medley train cdv-fasttext`, and name its folder `model` by"
            " MEDLEY_ENCODER",
            field="MEDLEY_ENCODER",
        )
    threads = settings.threads or None
    encoder = DiscourseEncoder.open(Path(settings.encoder), threads or 2)
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
    about = {"model": Path(settings.encoder).parent.name, "beside": beside.name, "beside_form": dense.form}
    return bench_report("discourse", figures, {**about, "onnxruntime": ort.__version__})

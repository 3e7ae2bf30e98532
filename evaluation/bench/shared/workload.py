"""The texts that benches of models run on, and runs in turns on them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any, Final

import numpy as np

from encoders.pooling import Floats

Runs = Mapping[str, Callable[[], Any]]
ROUNDS: Final = 5

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
"""Sentences of each passage, in turn: with a query 177 tokens on average, 55 to 256, like abstracts and sections."""


def passages(count: int, seed: int) -> list[str]:
    """Texts of different lengths and contents, the same in every run."""
    draw = random.Random(seed)  # noqa: S311 - a fixed sequence is what is wanted
    return [" ".join(draw.sample(SENTENCES, number)) for number in islice(cycle(COUNTS), count)]


def run_in_turns(runs: Runs, rounds: int = ROUNDS) -> tuple[dict[str, float], dict[str, Any]]:
    """(median seconds, answer) of each run, taken in turns after one warm-up round."""
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

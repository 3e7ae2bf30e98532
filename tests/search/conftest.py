"""A small real Medley: embedded engine, hashing encoder, a handful of documents."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_collections import abstract, fill

from search.bootstrap import Medley
from search.settings import Settings

ABSTRACTS = (
    (
        "a1",
        "Aspirin after myocardial infarction",
        "Low-dose aspirin lowered mortality after myocardial infarction. Bleeding was rare.",
        2015,
    ),
    ("a2", "Statins and stroke", "Statins lowered the risk of stroke in adults. Muscle pain was more common.", 2018),
    (
        "a3",
        "Bedtime antihypertensives",
        "Taking blood pressure tablets at bedtime did not lower cardiovascular risk.",
        2021,
    ),
    ("a4", "Vitamin D and falls", "Vitamin D did not prevent falls in older adults.", 2019),
    (
        "a5",
        "Aspirin in healthy adults",
        "In healthy adults aspirin did not prolong survival and caused bleeding.",
        2018,
    ),
)


@pytest.fixture
def index_abstracts() -> Callable[[Medley], None]:
    """Indexes the abstracts by whatever encoder a Medley has."""
    return lambda medley: fill(medley, "abstracts", [abstract(*item) for item in ABSTRACTS])


@pytest.fixture
def medley(tmp_path: Path) -> Medley:
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    fill(medley, "abstracts", [abstract(*item) for item in ABSTRACTS])
    return medley


@pytest.fixture
def many(tmp_path: Path) -> Callable[[int], Medley]:
    """A Medley with so many documents about aspirin, a third of them secret."""

    def make(count: int) -> Medley:
        medley = Medley.open(Settings(home=tmp_path / "many", encoder="hashing-256", reranker="none", window=20))
        documents = [
            abstract(f"d{number:03}", f"Trial {number}", f"Aspirin arm {number} {'aspirin ' * (number % 7)} outcome.", 2000 + number % 20,
                     "secret" if number % 3 == 0 else "public")
            for number in range(count)
        ]  # fmt: skip
        fill(medley, "abstracts", documents)
        return medley

    return make

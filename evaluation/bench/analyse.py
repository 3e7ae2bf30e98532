"""`medley bench analyse`: how many reports the reading at ingestion analyses per second, on one core."""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from evaluation.bench.shared.figures import Report, bench_report
from mappings.clinical.concepts import ConceptLexicon, shipped_concepts
from mappings.clinical.reading import READING_VERSION, prepared_reader
from mappings.datasets.indiana_cxr import read_reports
from mappings.documents import Section
from mappings.errors import NotFound
from search.settings import Settings

REPORTS: Final = 5_000
COMPARED: Final = 200
"""Reports that the compared program reads, too: it takes milliseconds for each."""
WARM: Final = 20
SEED: Final = 7
SENTENCES: Final = 6
_FINDINGS: Final = (
    "pneumothorax",
    "pleural effusion",
    "pulmonary edema",
    "consolidation",
    "atelectasis",
    "cardiomegaly",
    "pneumonia",
    "rib fracture",
    "pulmonary nodule",
    "hiatal hernia",
)
_SIDES: Final = ("right", "left")
_PLACES: Final = ("upper lobe", "lower lobe", "base", "apex")
_FORMS: Final = (
    "No {a}, {b} or {c}.",
    "There is no evidence of {a} in the {side} {place}.",
    "Small {a} at the {side} {place}, {number} mm, unchanged.",
    "The heart is normal in size.",
    "The lungs are clear.",
    "Cannot exclude {a} in the {side} {place}.",
    "{a} has resolved since the examination of {number} days ago.",
    "Stable {a} without {b}.",
    "History of {a} {number} months ago, now with {b}.",
)


def bench_analyse(settings: Settings) -> Report:
    """Reports per second: invented ones, and chest X-ray reports where `MEDLEY_DATA` has them; the ratio to medspaCy."""
    lexicon = shipped_concepts()
    invented = list(islice(_invented(), REPORTS))
    figures = {"reports": float(len(invented)), "reports_per_second": _rate(_reader(lexicon), invented)}
    real = _real(settings)
    if len(real) > WARM:
        figures |= {"chest_reports": float(len(real)), "chest_reports_per_second": _rate(_reader(lexicon), real)}
    other = _medspacy(lexicon)
    about: dict[str, Any] = {"reading": READING_VERSION, "concepts": len(lexicon)}
    if other:
        some = invented[:COMPARED]
        figures["speed_ratio"] = _rate(_reader(lexicon), some) / _rate(other, some)
    else:
        about["medspacy"] = "not installed, so there is no speed_ratio"
    return bench_report("analyse", figures, about)


def _invented() -> Iterator[str]:
    """Reports of 47 words on average, always the same ones; of `REPORTS`' 30,000 sentences 65 % repeat an earlier one."""
    draw = random.Random(SEED)  # noqa: S311 - invented reports, not secrets
    while True:
        yield " ".join(_sentence(draw) for _ in range(SENTENCES))


def _sentence(draw: random.Random) -> str:
    a, b, c = draw.sample(_FINDINGS, 3)
    side, place, number = draw.choice(_SIDES), draw.choice(_PLACES), draw.randrange(2, 999)
    text = draw.choice(_FORMS).format(a=a, b=b, c=c, side=side, place=place, number=number)
    return text[0].upper() + text[1:]


def _real(settings: Settings) -> list[str]:
    if settings.data is None:
        return []
    try:
        return [f"{item.findings}\n{item.impression}" for item in read_reports(settings.data)]
    except NotFound:
        return []


def _reader(lexicon: ConceptLexicon) -> Callable[[str], Any]:
    """A reader that has read nothing yet."""
    reader = prepared_reader(lexicon)
    return lambda text: reader.read([Section("Findings", text)])


def _rate(read: Callable[[str], Any], texts: Sequence[str]) -> float:
    for text in texts[:WARM]:  # compiles the rules; none of these is measured again
        read(text)
    started = time.process_time()
    for text in texts[WARM:]:
        read(text)
    return (len(texts) - WARM) / (time.process_time() - started)


def _medspacy(lexicon: ConceptLexicon) -> Callable[[str], Any] | None:
    """MedspaCy with its matcher over the same names, and ConText; None where it is not installed."""
    try:
        medspacy = importlib.import_module("medspacy")
        ner = importlib.import_module("medspacy.ner")
    except ImportError:
        return None
    _silence("PyRuSH")
    pipeline = medspacy.load(enable=["medspacy_pyrush", "medspacy_target_matcher", "medspacy_context"])
    rules = [ner.TargetRule(name, "CONCEPT") for concept in lexicon for name in concept.names]
    pipeline.get_pipe("medspacy_target_matcher").add(rules)
    read: Callable[[str], Any] = pipeline
    return read


def _silence(name: str) -> None:
    """Its sentence splitter prints a line for each token: a comparison of speed is not about printing."""
    try:
        loguru = importlib.import_module("loguru")
    except ImportError:
        return
    loguru.logger.disable(name)

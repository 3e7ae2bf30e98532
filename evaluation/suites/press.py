"""Press releases: the query is the conclusion as the press office wrote it, the answer the abstract's own conclusion."""

from __future__ import annotations

from evaluation.corpus.abstracts import abstract, plain
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.press_releases import read_press_releases
from mappings.documents import Section
from search.settings import Settings

MEASURES = ("Success@1", "RR", "Success@5", "Success@20", "nDCG@10")


def task(settings: Settings) -> Task:
    """The suite on the 563-pair half; conclusions with the same text are one document."""
    pairs = list(read_press_releases(settings.data, "test"))
    identifiers: dict[str, str] = {}
    for pair in pairs:
        identifiers.setdefault(plain(pair.conclusion), pair.id)
    texts = {pair.id: pair.conclusion for pair in pairs}
    documents = [abstract(key, "", [Section("", texts[key])], source="press") for key in identifiers.values()]
    return Task(
        suite="press",
        corpus=Corpus("press", "abstracts", lambda: documents),
        questions=tuple(Question(pair.id, pair.statement) for pair in pairs),
        judgements={pair.id: {identifiers[plain(pair.conclusion)]: 1} for pair in pairs},
        measures=MEASURES,
        notes=(f"{len(pairs)} pairs of the half that is never trained on; {len(documents)} distinct conclusions",),
        reference=True,
    )


SUITE = Suite("press", "press-release conclusions to abstract conclusions", lambda settings, options: [task(settings)])

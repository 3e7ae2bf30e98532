"""Press releases: the query is the conclusion as the press office wrote it, the answer the abstract's own conclusion."""

from __future__ import annotations

from evaluation.corpora import abstract, lines_of, plain
from evaluation.data import folder
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from search.settings import Settings

MEASURES = ("Success@1", "RR", "Success@5", "Success@20", "nDCG@10")


def task(settings: Settings) -> Task:
    """The suite on the 563-pair half; conclusions with the same text are one document."""
    pairs = lines_of(folder(settings, "press_releases") / "insciout_test.jsonl")
    identifiers: dict[str, str] = {}
    for pair in pairs:
        identifiers.setdefault(plain(pair["abstract_conclusion"]), pair["original_file_id"])
    texts = {pair["original_file_id"]: pair["abstract_conclusion"] for pair in pairs}
    documents = [abstract(key, "", [("", texts[key])], source="press") for key in identifiers.values()]
    return Task(
        suite="press",
        corpus=Corpus("press", "abstracts", lambda: documents),
        questions=tuple(Question(pair["original_file_id"], pair["press_release_conclusion"]) for pair in pairs),
        judgements={pair["original_file_id"]: {identifiers[plain(pair["abstract_conclusion"])]: 1} for pair in pairs},
        measures=MEASURES,
        notes=(f"{len(pairs)} pairs of the half that is never trained on; {len(documents)} distinct conclusions",),
        reference=True,
    )


SUITE = Suite("press", "press-release conclusions to abstract conclusions", lambda settings, options: [task(settings)])

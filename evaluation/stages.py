"""Every question of a task through the product's own path, stage by stage: legs, fused, reranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from evaluation.measures import Run
from evaluation.task import CANDIDATE_FIELD, Question, Task
from mappings.collection import Collection, Fusion
from mappings.documents import EVERY_LABEL, Access, Passage
from search.bootstrap import Medley
from search.pipeline.understanding import Understood, understand
from search.protocols import LegsRequest
from search.query import Query, Ranking, Scored, Terms
from search.ranking import cascade
from search.ranking.cascade import Scores, Stages, combine
from search.ranking.feedback import again
from search.ranking.fusion import Fused, fuse

ACCESS: Final = Access("evaluation", frozenset({EVERY_LABEL}))
BM25: Final = "bm25"
DENSE: Final = "dense"
FUSED: Final = "fused"
RERANKED: Final = "reranked"
COMPARED: Final = ((RERANKED, FUSED), (FUSED, BM25), (FUSED, DENSE))
"""(system, against): the paired tests of a report."""

Progress = Callable[[int, int], None]
"""Called with (questions done, questions in all)."""


@dataclass(frozen=True, slots=True)
class Legs:
    """What one question brought: how it was read, and a ranking by leg."""

    question: Question
    understood: Understood
    rankings: Mapping[str, Ranking]


@dataclass(frozen=True, slots=True)
class Bench:
    """A task over an open collection. `rerankers` is None when nothing is reranked."""

    medley: Medley
    task: Task
    rerankers: Stages | None

    @property
    def collection(self) -> Collection:
        """The collection with its fusion and reranking."""
        return self.medley.collection(self.task.corpus.name)


def legs(bench: Bench, question: Question, feedback: bool = True) -> Legs:
    """All legs of one question: the product's reading, encoder and engine; candidates chosen if the task says so.

    Where the collection searches twice they are the second answer's, as in a search, unless `feedback` is False.
    """
    engine, task = bench.medley.engine, bench.task
    query = Query(task.corpus.name, ACCESS, question.text, question.entity, question.aspect)
    meta = engine.resolve(task.corpus.name)
    understood = understand(query)
    encoders = {
        name: encoder
        for name, fingerprint in meta.encoders.items()
        if (encoder := bench.medley.encoder_of(fingerprint)) is not None
    }
    vectors = {name: encoder.encode_queries([understood.model_text])[0] for name, encoder in encoders.items()}
    documents = max(bench.medley.settings.window, task.depth)
    request = LegsRequest(meta.index, understood.lexical, vectors, ACCESS, documents)
    if task.candidates:
        request = _protocol(bench, question, request)
    found = Legs(question, understood, dict(engine.legs(request).rankings))
    if feedback and vectors and (wanted := bench.collection.feedback):
        order = fused(_as_searched(found, bench.medley.settings.window), bench.collection.fusion)
        moved, _ = again(engine, request, order, wanted, encoders, meta.windows)
        found = replace(found, rankings=dict(engine.legs(moved).rankings))
    return found


def _protocol(bench: Bench, question: Question, request: LegsRequest) -> LegsRequest:
    """The request held to the protocol's candidates, by a filter as any caller may give one."""
    number = bench.task.candidates or 0
    lexical = bench.medley.engine.legs(replace(request, vectors={}, documents=number))
    chosen = candidates(lexical.rankings[BM25], bench.task.answers[question.id], number)
    return replace(request, documents=number, filters=(Terms(CANDIDATE_FIELD, tuple(sorted(chosen))),))


def candidates(ranking: Ranking, grades: Mapping[str, int], number: int) -> frozenset[str]:
    """The first `number` documents of BM25; true answers it missed take the places of its lowest-ranked false ones."""
    first = distinct(item.document for item in ranking.items)[:number]
    missing = sorted(key for key, grade in grades.items() if grade > 0 and key not in first)
    room = number - len(missing)
    kept = [key for key in first if grades.get(key, 0) > 0]
    kept += [key for key in first if grades.get(key, 0) <= 0][: max(0, room - len(kept))]
    return frozenset((*kept, *missing))


def fused(found: Legs, fusion: Fusion) -> list[Fused]:
    """The fused order of one question."""
    return fuse(found.rankings, fusion)


def window(bench: Bench, order: Sequence[Fused]) -> tuple[list[Fused], list[Passage]]:
    """The candidates of reranking, best first, each with its passage."""
    limit = bench.medley.settings.candidates or bench.collection.reranking.candidates
    index = bench.medley.engine.resolve(bench.task.corpus.name).index
    texts = bench.medley.engine.passages(index, [item.passage for item in order[:limit]], ACCESS)
    present = [item for item in order[:limit] if item.passage in texts]
    return present, [texts[item.passage] for item in present]


def scores(bench: Bench, found: Legs, order: Sequence[Fused]) -> Scores:
    """Cross-encoder logits of the best passages of the fused order, with no deadline; empty without a reranker."""
    if bench.rerankers is None:
        return Scores()
    text = found.understood.model_text
    return cascade.read(bench.rerankers, bench.collection.reranking, text, *window(bench, order), None)


def runs(bench: Bench, progress: Progress | None = None) -> dict[str, Run]:
    """System -> question -> judged keys, best first. Systems: the legs, `fused`, and `reranked` if there is a reranker."""
    found: dict[str, dict[str, list[str]]] = {}
    for number, question in enumerate(bench.task.questions, 1):
        for system, keys in _systems(bench, question).items():
            found.setdefault(system, {})[question.id] = keys
        if progress:
            progress(number, len(bench.task.questions))
    return dict(found)


def _systems(bench: Bench, question: Question) -> dict[str, list[str]]:
    found = legs(bench, question)
    systems = {name: keys(bench.task, ranking.items) for name, ranking in found.rankings.items()}
    if bench.task.depth:
        found = _as_searched(found, bench.medley.settings.window)
    order = fused(found, bench.collection.fusion)
    systems[FUSED] = keys(bench.task, [_scored(item) for item in order])
    if bench.rerankers is not None:
        ranked = combine(order, scores(bench, found, order), bench.collection.reranking)
        systems[RERANKED] = keys(bench.task, [_scored(item.fused) for item in ranked])
    return systems


def _as_searched(found: Legs, documents: int) -> Legs:
    """The legs no further than a search ranks them."""
    rankings = {name: ranking.first(ranking.holding(documents)) for name, ranking in found.rankings.items()}
    return replace(found, rankings=rankings)


def _scored(item: Fused) -> Scored:
    return Scored(item.passage, item.document, item.score)


def keys(task: Task, items: Iterable[Scored]) -> list[str]:
    """The judged keys of passages, each where it stands first."""
    return distinct(task.key(item) for item in items)


def distinct(names: Iterable[str]) -> list[str]:
    """Each name once, in the order of its first appearance."""
    return list(dict.fromkeys(names))

"""Every question of a task through the product's own pipeline, stage by stage: legs, fused, reranked.

Nothing is ranked here: `search.pipeline` answers with the settings of the collection and without a deadline, so what
`medley evaluate` measures is what `medley search` returns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from evaluation.measures import Run
from evaluation.task import Question, Task
from mappings.collection import DISCOURSE, Collection
from mappings.documents import EVERY_LABEL, Access
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.pipeline.rerank import drop_inaccessible, rerank, rerank_window, score_window_candidates
from search.pipeline.retrieve import Retrieved, retrieve
from search.pipeline.services import SearchServices, Trace
from search.query import Query, Ranking, Scored, Terms
from search.ranking.candidates import Candidate
from search.ranking.cascade import RerankStages, StageScores

ACCESS: Final = Access("evaluation", frozenset({EVERY_LABEL}))
BM25: Final = "bm25"
DENSE: Final = "dense"
FUSED: Final = "fused"
RERANKED: Final = "reranked"
WITH_DISCOURSE: Final = "fused + discourse"
"""The fused ranking with the leg `discourse`, where the kind gives it no weight: at `DISCOURSE_SHARE` of all weights."""
WITHOUT_DISCOURSE: Final = "fused without discourse"
"""The fused ranking without it, where the kind gives it a weight."""
DISCOURSE_SHARE: Final = 0.2
OF_MODELS: Final = frozenset({DENSE, DISCOURSE, FUSED, WITH_DISCOURSE, WITHOUT_DISCOURSE, RERANKED})
"""The systems that a trained model has a part in."""
SIMPLE: Final = "simple"
"""What training has to beat: `evaluation.baselines.simple`."""
BASELINE: Final = "baseline"
"""Before the name of what a further bi-encoder ranked."""
ZERO_SHOT: Final = "zero-shot"
"""The end of the name of a system that was trained on nothing of the suite's data set."""
COMPARED: Final = (
    *((RERANKED, FUSED), (FUSED, BM25), (FUSED, DENSE), (RERANKED, SIMPLE), (FUSED, SIMPLE)),
    *((WITH_DISCOURSE, FUSED), (FUSED, WITHOUT_DISCOURSE)),
)
"""(system, against): the paired tests of a report."""

Progress = Callable[[int, int], None]
"""Called with (questions done, questions in all)."""


@dataclass(frozen=True, slots=True)
class Session:
    """A task over an open collection. `rerankers` is None if nothing is reranked."""

    medley: Medley
    task: Task
    rerankers: RerankStages | None

    @property
    def collection(self) -> Collection:
        """The collection with its fusion and reranking."""
        return self.medley.collections.get(self.task.corpus.name)

    @property
    def services(self) -> SearchServices:
        """The product's services, with the rerankers of this session and the window of its task."""
        services = replace(self.medley.services, reranker=lambda _: self.rerankers)
        if not self.task.window:
            return services
        return replace(services, settings=replace(services.settings, window=self.task.window))


def query_for(session: Session, question: Question) -> Query:
    """The question as a caller asks it, without a deadline; held to the protocol's candidates if the task has any."""
    task = session.task
    slots = (question.text, question.entity, question.aspect, question.having)
    query = Query(task.corpus.name, ACCESS, *slots, deadline_ms=0)
    if not task.candidates:
        return query
    if task.pool:
        drawn = draw_candidates(task.pool, task.answers[question.id], task.candidates, question.id)
        return replace(query, filters=(Terms(task.candidate_field, tuple(sorted(drawn))),))
    # By words alone, as the protocol says.
    services = replace(session.services, encoder=lambda _: None)
    collection = replace(session.collection, feedback=None)
    lexical = retrieve(query, services, Trace(), collection, depth=task.candidates).answer
    chosen = candidates(lexical.rankings[BM25], task.answers[question.id], task.candidates)
    return replace(query, filters=(Terms(task.candidate_field, tuple(sorted(chosen))),))


def candidates(ranking: Ranking, grades: Mapping[str, int], number: int) -> frozenset[str]:
    """The first `number` documents of BM25; true answers that it missed replace its lowest-ranked false ones."""
    first = distinct(item.document for item in ranking.items)[:number]
    missing = sorted(key for key, grade in grades.items() if grade > 0 and key not in first)
    room = number - len(missing)
    kept = [key for key in first if grades.get(key, 0) > 0]
    kept += [key for key in first if grades.get(key, 0) <= 0][: max(0, room - len(kept))]
    return frozenset((*kept, *missing))


def draw_candidates(pool: Sequence[str], grades: Mapping[str, int], number: int, seed: str) -> frozenset[str]:
    """The true answers, and others of the pool at random to `number` in all: the same ones for the same `seed`."""
    answers = [key for key, grade in sorted(grades.items()) if grade > 0]
    others = sorted({*pool} - {*answers})
    room = min(len(others), max(0, number - len(answers)))
    return frozenset((*answers, *random.Random(seed).sample(others, room)))  # noqa: S311 - fixed, as wanted


def retrieve_question(session: Session, question: Question, feedback: bool = True) -> Retrieved:
    """The candidates of one question; `feedback=False` leaves out the collection's feedback, and asks every leg.

    Raises `Unavailable` for an answer that is degraded: it must not be measured.
    """
    return _retrieve(session, query_for(session, question), feedback)


def _retrieve(session: Session, query: Query, feedback: bool = True, depth: int | None = None) -> Retrieved:
    collection = session.collection if feedback else _asking_every_leg(session)
    trace = Trace()
    retrieved = retrieve(query, session.services, trace, collection, depth=session.task.candidates or depth)
    check_whole((*trace.degraded, *trace.partial))
    return retrieved


def _asking_every_leg(session: Session) -> Collection:
    """The collection without feedback, and with a weight for the leg `discourse` if its index has one."""
    collection = replace(session.collection, feedback=None)
    if DISCOURSE not in session.medley.engine.resolve(collection.name).encoders:
        return collection
    weights = weights_with(collection.fusion.weights, DISCOURSE_SHARE)
    return replace(collection, fusion=replace(collection.fusion, weights=weights))


def score_candidates(session: Session, retrieved: Retrieved) -> StageScores:
    """Logits of the best candidates, without a deadline; empty without a reranker."""
    if session.rerankers is None:
        return StageScores()
    window, _ = drop_inaccessible(retrieved, rerank_window(retrieved, session.services))
    return score_window_candidates(retrieved, window, session.rerankers, retrieved.collection.reranking)


def run_task(session: Session, progress: Progress | None = None) -> dict[str, Run]:
    """System -> question -> judged keys, best first. Systems: the legs, `fused`, and `reranked` if there is a reranker.

    Over an index with discourse vectors also `fused` with or without that leg, whichever the kind's weights do not give.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for number, question in enumerate(session.task.questions, 1):
        for system, keys in _rank(session, question).items():
            found.setdefault(system, {})[question.id] = keys
        if progress:
            progress(number, len(session.task.questions))
    return dict(found)


def _rank(session: Session, question: Question) -> dict[str, list[str]]:
    task, query = session.task, query_for(session, question)
    retrieved = _retrieve(session, query)
    # A deeper ranking is for the rows of the legs alone: what is fused is what a search fuses.
    deep = _retrieve(session, query, depth=task.depth) if task.depth > session.medley.settings.window else retrieved
    systems = {name: judged_keys(task, ranking.items) for name, ranking in deep.answer.rankings.items()}
    systems[FUSED] = judged_keys(task, retrieved.candidates)
    systems |= _with_and_without_discourse(session, query, systems)
    if session.rerankers is not None:
        trace = Trace()
        reranked = rerank(query, retrieved, session.services, trace)
        check_whole((*trace.degraded, *trace.partial))
        systems[RERANKED] = judged_keys(task, reranked.candidates)
    return systems


def _with_and_without_discourse(
    session: Session, query: Query, systems: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """The ranking of the leg, and the fused one with the leg or without it; empty where the index has no such vectors.

    A question without a slot has no ranking of the leg, and the same fused ones.
    """
    task, fusion = session.task, session.collection.fusion
    if DISCOURSE not in session.medley.engine.resolve(task.corpus.name).encoders:
        return {}
    own = fusion.weights.get(DISCOURSE, 0.0) > 0
    other = _retrieve_weighted(session, query, weights_with(fusion.weights, 0.0 if own else DISCOURSE_SHARE))
    ranking = systems.get(DISCOURSE) or judged_keys(task, other.answer.rankings.get(DISCOURSE, ()))
    return {DISCOURSE: ranking, WITHOUT_DISCOURSE if own else WITH_DISCOURSE: judged_keys(task, other.candidates)}


def weights_with(weights: Mapping[str, float], share: float) -> dict[str, float]:
    """The weights of the other legs in their proportions, and `share` of all for the leg `discourse`."""
    others = {leg: weight for leg, weight in weights.items() if leg != DISCOURSE}
    total = sum(others.values()) or 1.0
    return {**{leg: round(weight * (1 - share) / total, 6) for leg, weight in others.items()}, DISCOURSE: share}


def _retrieve_weighted(session: Session, query: Query, weights: Mapping[str, float]) -> Retrieved:
    fusion = replace(session.collection.fusion, weights=weights)
    trace = Trace()
    found = retrieve(
        query, session.services, trace, replace(session.collection, fusion=fusion), depth=session.task.candidates
    )
    check_whole((*trace.degraded, *trace.partial))
    return found


def check_whole(missing: Sequence[str]) -> None:
    """Raise `Unavailable` for an answer of which something is missing, with what it says of itself."""
    if missing:
        raise Unavailable(f"a degraded answer cannot be measured: {'; '.join(missing)}")


def judged_keys(task: Task, items: Iterable[Scored | Candidate]) -> list[str]:
    """The judged keys of passages, each at its first place."""
    return distinct(task.key(item.document, item.passage) for item in items)


def distinct(names: Iterable[str]) -> list[str]:
    """Each name once, in the order of its first appearance."""
    return list(dict.fromkeys(names))

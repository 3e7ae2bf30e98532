"""What the models read in the passages of a page: what each says of the query, and the sentences to show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from mappings.claims.cues import COMPARISON, EFFECT
from mappings.collection import Collection
from mappings.documents import Passage
from mappings.errors import MedleyError
from mappings.stances import UNREAD, ClaimPassage, StanceReading
from search.memory.scores import Scores
from search.pipeline import evidence
from search.pipeline.rerank import wording
from search.pipeline.results import Evidence, Hit, HitStance
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import SearchServices, Trace, rerank_milliseconds, stance_deadline
from search.query import Query
from search.ranking.answers import hit_probability, page_probability
from search.ranking.claims import sentence_scores
from search.settings import Settings

SENTENCE_CHOICES: Final = 3
"""How many sentences of a passage are selected by words; the cross-encoder chooses among them."""
LEAST_DECIDING: Final = 0.05
"""A hit that is less likely to answer decides on nothing. With this, of held-out claims a stance is read in .70 of the answers
and in .10 of the other hits; from .1 on it would be .62 and .05."""
MOST_CLAIM: Final = 600
"""A longer text is no claim, but several: passages are not read for what they say of it. In characters."""


def read_stances(
    query: Query, retrieved: Retrieved, passages: Sequence[Passage], services: SearchServices, trace: Trace
) -> list[StanceReading | None]:
    """What each passage says of the query, read as a claim; None where it was not read.

    Words that are looked up claim nothing, and are not read for. A missing or failing model never raises: `trace.degraded`
    says why. The same search gets the same readings again, unless there was no time for any.
    """
    unread: list[StanceReading | None] = [None] * len(passages)
    if not passages or not query.stances or not is_claim(query, retrieved):
        return unread
    try:
        reader = services.claim_reader(retrieved.collection)
        if reader is None:
            return unread
        claim = retrieved.understanding.model_text
        key = ("stances", *_shown(query, retrieved, passages, services), reader.reader.fingerprint)
        known = services.scores.get(key)
        if known is None:
            texts = [ClaimPassage.of(item.text, item.title) for item in passages]
            known = _packed(reader.read(claim, texts, stance_deadline(query, services, retrieved.collection, trace)))
            known = services.scores.keep(key, known) if any(known) else known
    except MedleyError as error:
        trace.degraded.append(f"what the hits say of the text was not read ({error.message})")
        return unread
    return _unpacked(known)


def is_claim(query: Query, retrieved: Retrieved) -> bool:
    """Whether the query's text can be read as one claim or question: it is not too long, and more than words to look up.

    A short text with a verb ("aspirin prevents stroke") is looked up and claims something.
    """
    text = query.text.strip()
    if not query.rerank or not 0 < len(text) <= MOST_CLAIM:
        return False
    return not retrieved.understanding.lexical.wanted or bool(EFFECT.search(text) or COMPARISON.search(text))


def with_probabilities(
    hits: Sequence[Hit], collection: Collection, settings: Settings
) -> tuple[tuple[Hit, ...], float | None]:
    """The hits with the probability that each answers, and the probability that any does; None where it can't be told.

    The kind's weights hold for its own models only. A hit that probably speaks of something else says neither, whatever was
    read.
    """
    weights = None if settings.reranker or settings.encoder else collection.answers
    if weights is None:
        return tuple(hits), None
    told = [hit_probability(hit.signs, weights) for hit in hits]
    found = tuple(
        replace(hit, probability=value, stance=_stance_of_hit(hit.stance, value))
        for hit, value in zip(hits, told, strict=True)
    )
    return found, page_probability(told, weights)


def _stance_of_hit(stance: HitStance | None, probability: float | None) -> HitStance | None:
    """The stance of a hit that answers with this probability."""
    if stance is None or probability is None:
        return stance
    if stance.label == "neither" or probability >= LEAST_DECIDING:
        return stance._replace(answers=probability)
    return HitStance("neither", 1 - probability, probability)


def _packed(readings: Sequence[StanceReading | None]) -> Scores:
    return [[*item.probabilities, *item.evidence] if item else [] for item in readings]


def _unpacked(scores: Scores) -> list[StanceReading | None]:
    found: list[StanceReading | None] = []
    for item in scores:
        values = [UNREAD if value is None else value for value in item]
        found.append(StanceReading((values[0], values[1], values[2]), tuple(values[3:])) if values else None)
    return found


def choose_sentences(
    query: Query,
    retrieved: Retrieved,
    passages: Sequence[Passage],
    readings: Sequence[StanceReading | None],
    services: SearchServices,
    trace: Trace,
    remember: bool,
) -> list[tuple[Evidence, ...]]:
    """For each passage the sentences to show: the cross-encoder chooses as long as time is left, otherwise their words do.

    Of a passage that was read for a claim all sentences are considered, and the reading has a say. Whoever looks words up wants to
    see them: then the words choose. The same search gets the same sentences again if they are to be remembered.
    """
    readings = [reading if reading and reading.best(1) else None for reading in readings]  # a long claim leaves no room
    wanted = retrieved.understanding.terms
    read = [evidence.ReadPassage.of(passage.text) for passage in passages]
    weights = evidence.rarity(read, wanted)
    choices = [_choice(own, reading, weights) for own, reading in zip(read, readings, strict=True)]
    logits = _sentence_logits(query, retrieved, passages, choices, services, trace, remember)
    claim = retrieved.understanding.model_text
    chosen = [
        best_of(claim, choice, reading, own) if reading else evidence.best(choice, _known(own))
        for choice, reading, own in zip(choices, readings, logits, strict=True)
    ]
    return [evidence.with_marks(sentences, wanted) for sentences in chosen]


def _known(logits: Sequence[float | None]) -> list[float] | None:
    """The logits if all are known."""
    known = [value for value in logits if value is not None]
    return known if len(known) == len(logits) else None


def _choice(
    passage: evidence.ReadPassage, reading: StanceReading | None, weights: Mapping[str, float]
) -> list[Evidence]:
    """The sentences among which one chooses: all where the stance was read, in order, otherwise the best ones by words."""
    if reading is None:
        return evidence.candidates(passage, weights, SENTENCE_CHOICES)
    every = evidence.candidates(passage, weights, len(reading.evidence))
    return sorted(every, key=lambda item: item.start)


def best_of(
    claim: str, sentences: Sequence[Evidence], reading: StanceReading, logits: Sequence[float | None] | None = None
) -> tuple[Evidence, ...]:
    """The sentences of a passage that are evidence most; their `score` is the probability of being evidence."""
    scores = sentence_scores(claim, [item.text for item in sentences], reading, logits)
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: evidence.SENTENCES]
    return tuple(
        replace(sentences[place], score=1 / (1 + math.exp(-max(-50.0, reading.evidence[place]))))
        for place in sorted(order)
    )


def _sentence_logits(
    query: Query,
    retrieved: Retrieved,
    passages: Sequence[Passage],
    choices: Sequence[Sequence[Evidence]],
    services: SearchServices,
    trace: Trace,
    remember: bool,
) -> list[list[float | None]]:
    """What the cross-encoder scores of the sentences of each passage; None for one that it had no time for."""
    texts = [item.text for choice in choices for item in choice]
    unread: list[float | None] = [None] * len(texts)
    found: Sequence[float | None] = unread
    try:
        wanted = query.rerank and texts and not retrieved.understanding.lexical.wanted
        until = stance_deadline(query, services, retrieved.collection, trace)
        stages = services.reranker(retrieved.collection) if wanted else None
        if stages is not None:
            key = (
                "sentences",
                *_shown(query, retrieved, passages, services),
                stages.last.reranker.fingerprint,
                *map(len, choices),  # a passage that was read has all of its sentences scored, another one some
            )
            known = services.scores.get(key)
            if known is None:
                asked = wording(retrieved)
                known = [stages.last.score_pairs([(asked.as_in(text), text) for text in texts], until)]
                known = services.scores.keep(key, known) if remember else known
            found = known[0]
    except MedleyError:
        found = unread  # the words choose
    ends = list(accumulate(map(len, choices)))
    return [list(found[end - len(choice) : end]) for choice, end in zip(choices, ends, strict=True)]


def _shown(
    query: Query, retrieved: Retrieved, passages: Sequence[Passage], services: SearchServices
) -> tuple[object, ...]:
    """What must be the same for what was read to be remembered."""
    meta, understanding = retrieved.meta, retrieved.understanding
    asked = (query.access.key, understanding.model_text, understanding.names, *sorted(understanding.terms))
    milliseconds = rerank_milliseconds(query, services, retrieved.collection)
    return meta.index, meta.commit, *asked, milliseconds, *(passage.id for passage in passages)

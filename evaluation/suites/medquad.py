"""MedQuAD, test split of Arnold et al. 2020: a question, or an entity and an aspect, finds the passage that answers it.

The question is the query: it is never indexed nor shown to a model. Each MedQuAD passage is one document here, so what
is retrieved is what is judged, however long it is. With 64 candidates, as in the papers: BM25 over the 3,762 passages
retrieves them, and a true answer that it missed replaces the lowest-ranked false one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from evaluation.corpus.abstracts import LABELS, plain
from evaluation.suite import Suite
from evaluation.task import CANDIDATE_FIELD, Corpus, Published, Question, Task
from mappings.datasets.medquad import read_articles, read_judged_passages, read_questions
from mappings.documents import Document, Section
from search.settings import Settings

MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "nDCG@10")
FULL_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "R@100")
CANDIDATES = 64
_CAPR = "CAPR, 64 candidates"
_CDV = "Arnold et al. 2020 (CDV), 64 candidates, entity + aspect"
PUBLISHED = (
    Published("BM25", _CAPR, {"Success@1": 0.3198, "Success@5": 0.7820}),
    Published("HAR", _CAPR, {"Success@1": 0.5565, "Success@5": 0.8545}),
    Published("CDV + BioBERT", _CAPR, {"Success@1": 0.4431, "Success@5": 0.7255}),
    Published("Bi-encoder", _CAPR, {"Success@1": 0.6298, "Success@5": 0.8980}),
    Published("Bi-encoder, shared", _CAPR, {"Success@1": 0.6440, "Success@5": 0.9179}),
    Published("Poly-encoder", _CAPR, {"Success@1": 0.6330, "Success@5": 0.9480}),
    Published("Cross-encoder", _CAPR, {"Success@1": 0.7790, "Success@5": 0.9795}),
    Published("Longformer Bi-encoder", _CAPR, {"Success@1": 0.4977, "Success@5": 0.8884}),
    Published("TF-IDF", _CDV, {"Success@1": 0.2383, "Success@10": 0.8284, "AP": 0.4266}),
    Published("BM25", _CDV, {"Success@1": 0.2948, "Success@10": 0.8611, "AP": 0.4889}),
    Published("DSSM", _CDV, {"Success@1": 0.1311, "Success@10": 0.5592, "AP": 0.2738}),
    Published("DRMM", _CDV, {"Success@1": 0.3452, "Success@10": 0.8235, "AP": 0.5151}),
    Published("Conv-KNRM", _CDV, {"Success@1": 0.4270, "Success@10": 0.8454, "AP": 0.5757}),
    Published("HAR", _CDV, {"Success@1": 0.5565, "Success@10": 0.9317, "AP": 0.6910}),
    Published("MV-LSTM", _CDV, {"Success@1": 0.3686, "Success@10": 0.8629, "AP": 0.5318}),
    Published("CDV, fastText", _CDV, {"Success@1": 0.4526, "Success@10": 0.9229, "AP": 0.6256}),
    Published("CDV, BioBERT", _CDV, {"Success@1": 0.3996, "Success@10": 0.9132, "AP": 0.5891}),
)


def tasks(settings: Settings, full: bool = False) -> list[Task]:
    """The main task (text only, question) and its variants: with the document's title, and with slots."""
    queries = list(read_questions(settings.data))
    judged = {passage.id: passage.entity for passage in read_judged_passages(settings.data)}
    passages = [passage for passage in _passages(settings, judged) if full or passage.id in judged]
    texts = {passage.id: passage.text for passage in passages}
    strict = {query.id: dict.fromkeys(query.relevant, 1) for query in queries}
    main = Task(
        suite="medquad-full" if full else "medquad",
        corpus=_corpus("medquad-full" if full else "medquad", passages, titled=False),
        questions=tuple(Question(query.id, query.question) for query in queries),
        judgements=with_twins(strict, texts),
        strict=strict,
        measures=FULL_MEASURES if full else MEASURES,
        candidates=None if full else CANDIDATES,
        published=PUBLISHED,
        notes=_notes(full, len(passages)),
        reference=not full,
    )
    slots = tuple(Question(query.id, entity=query.entity, aspect=query.aspect_heading) for query in queries)
    titled = replace(main, variant="with document title", corpus=_corpus(f"{main.suite}-titled", passages, titled=True))
    return [main, titled, replace(main, variant="entity + aspect", questions=slots, reference=False)]


def _notes(full: bool, passages: int) -> tuple[str, ...]:
    protocol = (
        "all are ranked"
        if full
        else f"{CANDIDATES} candidates a query by BM25, missed answers replace its last ones; "
        "the product's own number of passages is reranked"
    )
    return (
        f"test split; {passages:,} passages; {protocol}",
        "text only unless said otherwise; passages with identical text count as one answer unless 'strict'",
    )


def _corpus(name: str, passages: list[_TitledPassage], titled: bool) -> Corpus:
    return Corpus(name, "articles", lambda: (_document(passage, titled) for passage in passages))


def _document(passage: _TitledPassage, titled: bool) -> Document:
    title = passage.title if titled else ""
    return Document(passage.id, title, (Section("", passage.text),), LABELS, {CANDIDATE_FIELD: passage.id})


class _TitledPassage(NamedTuple):
    id: str
    title: str
    text: str


def _passages(settings: Settings, entities: Mapping[str, str]) -> list[_TitledPassage]:
    """Every passage once. Where articles share an id, it belongs to the one whose title is the judged entity."""
    found: dict[str, _TitledPassage] = {}
    for article in read_articles(settings.data):
        for passage in article.passages:
            entitled = plain(article.title) == plain(entities.get(passage.id, ""))
            if passage.text.strip() and (entitled or passage.id not in found):
                found[passage.id] = _TitledPassage(passage.id, article.title, passage.text)
    return list(found.values())


def with_twins(judgements: Mapping[str, Mapping[str, int]], texts: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The judgements with every passage of an answer's text judged as that answer."""
    same: dict[str, list[str]] = defaultdict(list)
    for identifier, text in texts.items():
        same[plain(text)].append(identifier)
    return {
        query: {twin: grade for key, grade in grades.items() for twin in (key, *same[plain(texts.get(key, ""))])}
        for query, grades in judgements.items()
    }


SUITE = Suite(
    "medquad",
    "questions to passages of health articles",
    lambda settings, options: tasks(settings, options.full),
    options=("full",),
    forms=({}, {"full": True}),
)

"""MedQuAD, test split of Arnold et al. 2020: a question, or an entity and an aspect, finds the passage that answers it.

The question is the query: it is never indexed nor shown to a model. Each MedQuAD passage is one document here, so what
is retrieved is what is judged, however long it is. With 64 candidates, as in the papers: BM25 over the 3,762 passages
retrieves them, and a true answer that it missed replaces the lowest-ranked false one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evaluation.breakdown.first_hits import Topic, TopicBreakdown
from evaluation.corpus.abstracts import LABELS, plain
from evaluation.corpus.templates import EntityQuestion, share_known
from evaluation.published.systems import published_rows
from evaluation.suite import Suite
from evaluation.task import CANDIDATE_FIELD, Corpus, Question, Task
from mappings import collection as kinds
from mappings.analysis.passages import passage_sections
from mappings.datasets.medquad import (
    HealthArticle,
    HealthQuestion,
    JudgedPassage,
    read_articles,
    read_judged_passages,
    read_questions,
)
from mappings.documents import Document, Section
from search.models.discourse import NONE
from search.settings import Settings

MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "nDCG@10")
FULL_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "R@100")
CANDIDATES = 64
IN_ARTICLES = "in whole articles"
_FULL = "64 candidates, where ours are found among all passages: an easier task than this table's"
PUBLISHED = (*published_rows("capr", "MedQuAD"), *published_rows("cdv", "MedQuAD"))
_TRAINED = "trained on MedQuAD's other documents"
_NOT_ZERO_SHOT = "so not zero-shot like the published rows"


def tasks(settings: Settings, full: bool = False, baseline: str = "", discourse: bool = False) -> list[Task]:
    """The main task (text only, question) and its variants: with the document's title, and with slots.

    `baseline` names a further bi-encoder, such as an untrained one: it ranks for questions and slots alike. With `discourse`,
    the full form also asks for passages that stand in their whole articles.
    """
    queries = list(read_questions(settings.data))
    articles = list(read_articles(settings.data))
    judged = {passage.id: passage for passage in read_judged_passages(settings.data)}
    passages = [passage for passage in _passages(articles, judged) if full or passage.id in judged]
    texts = {passage.id: passage.text for passage in passages}
    strict = {query.id: dict.fromkeys(query.relevant, 1) for query in queries}
    others = _other_articles(queries, articles, judged)
    main = Task(
        suite="medquad-full" if full else "medquad",
        corpus=_corpus("medquad-full" if full else "medquad", passages, titled=False),
        questions=tuple(Question(query.id, query.question) for query in queries),
        judgements=with_twins(strict, texts),
        strict=strict,
        measures=FULL_MEASURES if full else MEASURES,
        candidates=None if full else CANDIDATES,
        published=tuple(replace(row, note=f"{row.note}; {_FULL}") for row in PUBLISHED) if full else PUBLISHED,
        notes=_notes(full, len(passages)),
        reference=not full,
        trained=f"{_TRAINED}; {_known_templates(queries, others):.1%} of the test questions use a template "
        "that those documents' questions use, too, such as 'what is (are) X ?'",
    )
    slots = tuple(Question(query.id, entity=query.entity, aspect=query.aspect_heading) for query in queries)
    titled = replace(main, variant="with document title", corpus=_corpus(f"{main.suite}-titled", passages, titled=True))
    known = f"{_TRAINED}, by whose names {_known_aspects(queries, others):.1%} of the questions call their aspect"
    by_slots = replace(
        main, variant="entity + aspect", questions=slots, leads=not full, trained=f"{known}: {_NOT_ZERO_SHOT}"
    )
    if not full:
        by_slots = replace(
            by_slots,
            breakdown=_breakdown(queries, passages, judged),
            whole=_whole_articles(articles, passages),
        )
    whole = _in_articles(main, by_slots, _whole_articles(articles, passages), settings) if full and discourse else []
    return [main, titled, by_slots, *whole, *_baselines(main, by_slots, baseline)]


def _in_articles(main: Task, by_slots: Task, whole: Sequence[Mapping[str, str]], settings: Settings) -> list[Task]:
    """Both kinds of questions over whole articles, whose sections are judged; a long section has several passages."""
    kind = kinds.load("articles", None, settings.collections)
    documents = [
        Document(f"article-{number}", "", tuple(Section("", text) for text in article.values()), LABELS, {})
        for number, article in enumerate(whole)
    ]
    places: dict[str, list[str]] = defaultdict(list)
    for article, document in zip(whole, documents, strict=True):
        names = list(article)
        for ordinal, section in enumerate(passage_sections(document, kind)):
            places[names[section]].append(f"{document.id}#{ordinal}")
    judgements = {
        query: {place: grade for key, grade in grades.items() for place in places.get(key, [f"{key}#lost"])}
        for query, grades in main.judgements.items()
    }
    corpus = Corpus("medquad-articles", "articles", lambda: iter(documents))
    return [
        replace(
            task,
            variant=f"{task.variant}{' ' if task.variant else ''}{IN_ARTICLES}",
            corpus=corpus,
            judgements=judgements,
            unit="passage",
            strict=None,
        )
        for task in (main, by_slots)
    ]


def _breakdown(
    queries: Iterable[HealthQuestion], passages: Iterable[_TitledPassage], judged: Mapping[str, JudgedPassage]
) -> TopicBreakdown:
    """By what the split says of queries and passages; a query is of the source of its first answer."""
    topics = {item.id: Topic(judged[item.id].entity, item.aspect, item.source) for item in passages}
    sources = {query.id: next((topics[key].source for key in query.relevant if key in topics), "") for query in queries}
    asked = {query.id: Topic(query.entity, query.aspect, sources[query.id]) for query in queries}
    return TopicBreakdown(asked, topics, {item.id: item.text for item in passages})


def _baselines(main: Task, by_slots: Task, name: str) -> list[Task]:
    corpus = replace(main.corpus, name=f"{main.corpus.name}-baseline")
    found = (
        replace(task, corpus=corpus, encoder=name, reference=False, trained="", breakdown=None)
        for task in (by_slots, main)
    )
    return list(found) if name else []


def _other_articles(
    queries: Iterable[HealthQuestion], articles: Iterable[HealthArticle], judged: Mapping[str, JudgedPassage]
) -> list[HealthArticle]:
    """The articles that neither hold nor are about what is judged."""
    documents = {passage.article for passage in judged.values()}
    entities = {
        plain(name) for name in (*(passage.entity for passage in judged.values()), *(item.entity for item in queries))
    }
    return [item for item in articles if item.id not in documents and plain(item.title) not in entities]


def _known_templates(queries: Iterable[HealthQuestion], others: Iterable[HealthArticle]) -> float:
    """The share of the questions whose template a question of the other articles has."""
    asked = [EntityQuestion(query.question, query.entity) for query in queries]
    return share_known(
        asked, (EntityQuestion(item.question, article.title) for article in others for item in article.passages)
    )


def _known_aspects(queries: Sequence[HealthQuestion], others: Iterable[HealthArticle]) -> float:
    """The share of the questions that call their aspect by a name that the other articles have for one."""
    named = {part.question_type for article in others for part in article.passages}
    return sum(query.aspect_heading in named for query in queries) / max(len(queries), 1)


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


def _whole_articles(articles: Iterable[HealthArticle], judged: Iterable[_TitledPassage]) -> list[dict[str, str]]:
    """The articles with a judged passage, each with all of its passages by id, in order; no id in two articles."""
    titles = {passage.id: passage.title for passage in judged}
    found: list[dict[str, str]] = []
    taken: set[str] = set()
    for article in articles:
        owned = [part for part in article.passages if part.text.strip() and part.id not in taken]
        if any(titles.get(part.id) == article.title for part in owned):
            found.append({part.id: part.text for part in owned if titles.get(part.id, article.title) == article.title})
            taken |= found[-1].keys()
    return found


class _TitledPassage(NamedTuple):
    id: str
    title: str
    text: str
    aspect: str
    source: str


def _passages(articles: Iterable[HealthArticle], judged: Mapping[str, JudgedPassage]) -> list[_TitledPassage]:
    """Every passage once. Where articles share an id, it belongs to the one whose title is the judged entity."""
    found: dict[str, _TitledPassage] = {}
    for article in articles:
        for passage in article.passages:
            entitled = passage.id in judged and plain(article.title) == plain(judged[passage.id].entity)
            if passage.text.strip() and (entitled or passage.id not in found):
                found[passage.id] = _TitledPassage(
                    passage.id, article.title, passage.text, passage.question_type, article.source
                )
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
    lambda settings, options: tasks(settings, options.full, options.baseline, settings.discourse not in ("", NONE)),
    options=("full", "baseline", "systems"),
    forms=(
        {},
        {"full": True, "baseline": "", "systems": None},
    ),  # the baseline has 16,373 passages to encode there, for no row of ours
    in_all=("baseline", "systems"),
)

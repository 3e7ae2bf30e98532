"""MedQuAD, test split of Arnold et al. 2020: a question, or an entity and an aspect, finds the passage that answers it.

The question is the query: it is never indexed nor shown to a model. Each MedQuAD passage is one document here, so what
is retrieved is what is judged, however long it is. With 64 candidates, as in the papers: BM25 over the 3,762 passages
retrieves them, and a true answer that it missed replaces the lowest-ranked false one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from evaluation.corpus.abstracts import LABELS, plain
from evaluation.corpus.templates import EntityQuestion, share_known
from evaluation.suite import Suite
from evaluation.task import CANDIDATE_FIELD, Corpus, Published, Question, Task
from mappings.datasets.medquad import (
    HealthArticle,
    HealthQuestion,
    JudgedPassage,
    read_articles,
    read_judged_passages,
    read_questions,
)
from mappings.documents import Document, Section
from search.settings import Settings

MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "nDCG@10")
FULL_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "R@100")
CANDIDATES = 64
_CAPR = "CAPR, 64 candidates"
_CDV = "Arnold et al. 2020 (CDV), 64 candidates, entity + aspect"
_SLOTS = "asked by entity and aspect, as our rows with 'entity + aspect' are, not by the question"
_WIKIPEDIA = f"zero-shot: trained on Wikipedia and on nothing of MedQuAD, where ours were trained on its other documents; {_SLOTS}"
_CAPR_QUERIES = "CAPR names 1,060 questions of the same test split"
_CDV_QUERIES = "3,294 questions of the same test split"
_FULL = "64 candidates, where ours are found among all passages: an easier task than this table's"


def _capr(system: str, first: float, fifth: float, how: str = _WIKIPEDIA) -> Published:
    return Published(system, _CAPR, {"Success@1": first, "Success@5": fifth}, f"{how}; {_CAPR_QUERIES}")


def _cdv(system: str, first: float, tenth: float, precision: float, how: str = _WIKIPEDIA) -> Published:
    measures = {"Success@1": first, "Success@10": tenth, "AP": precision}
    return Published(system, _CDV, measures, f"{how}; {_CDV_QUERIES}")


PUBLISHED = (
    _capr("BM25", 0.3198, 0.7820, _SLOTS),
    _capr("HAR", 0.5565, 0.8545),
    _capr("CDV + BioBERT", 0.4431, 0.7255),
    _capr("Bi-encoder", 0.6298, 0.8980),
    _capr("Bi-encoder, shared", 0.6440, 0.9179),
    _capr("Poly-encoder", 0.6330, 0.9480),
    _capr("Cross-encoder", 0.7790, 0.9795),
    _capr("Longformer Bi-encoder", 0.4977, 0.8884),
    _cdv("TF-IDF", 0.2383, 0.8284, 0.4266, _SLOTS),
    _cdv("BM25", 0.2948, 0.8611, 0.4889, _SLOTS),
    _cdv("DSSM", 0.1311, 0.5592, 0.2738),
    _cdv("DRMM", 0.3452, 0.8235, 0.5151),
    _cdv("Conv-KNRM", 0.4270, 0.8454, 0.5757),
    _cdv("HAR", 0.5565, 0.9317, 0.6910),
    _cdv("MV-LSTM", 0.3686, 0.8629, 0.5318),
    _cdv("CDV, fastText", 0.4526, 0.9229, 0.6256),
    _cdv("CDV, BioBERT", 0.3996, 0.9132, 0.5891),
)
_TRAINED = "trained on MedQuAD's other documents"
_ASPECTS = f"{_TRAINED}, with the same names of the aspects: so not zero-shot like the published rows"


def tasks(settings: Settings, full: bool = False, baseline: str = "") -> list[Task]:
    """The main task (text only, question) and its variants: with the document's title, and with slots.

    `baseline` names a further bi-encoder, such as an untrained one: it ranks for questions and slots alike.
    """
    queries = list(read_questions(settings.data))
    articles = list(read_articles(settings.data))
    judged = {passage.id: passage for passage in read_judged_passages(settings.data)}
    passages = [passage for passage in _passages(articles, judged) if full or passage.id in judged]
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
        published=tuple(replace(row, note=f"{row.note}; {_FULL}") for row in PUBLISHED) if full else PUBLISHED,
        notes=_notes(full, len(passages)),
        reference=not full,
        trained=f"{_TRAINED}; {_known_templates(queries, articles, judged):.1%} of the test questions use a template "
        "that those documents' questions use, too, such as 'what is (are) X ?'",
    )
    slots = tuple(Question(query.id, entity=query.entity, aspect=query.aspect_heading) for query in queries)
    titled = replace(main, variant="with document title", corpus=_corpus(f"{main.suite}-titled", passages, titled=True))
    by_slots = replace(
        main,
        variant="entity + aspect",
        questions=slots,
        reference=False,
        leads=not full,
        trained=_ASPECTS,
        whole=[] if full else _whole_articles(articles, passages),
    )
    return [main, titled, by_slots, *_baselines(main, by_slots, baseline)]


def _baselines(main: Task, by_slots: Task, name: str) -> list[Task]:
    corpus = replace(main.corpus, name=f"{main.corpus.name}-baseline")
    found = (replace(task, corpus=corpus, encoder=name, reference=False, trained="") for task in (by_slots, main))
    return list(found) if name else []


def _known_templates(
    queries: Iterable[HealthQuestion], articles: Iterable[HealthArticle], judged: Mapping[str, JudgedPassage]
) -> float:
    """The share of the questions whose template a question of the documents has that neither hold nor are about what is judged."""
    asked = [EntityQuestion(query.question, query.entity) for query in queries]
    documents = {passage.article for passage in judged.values()}
    entities = {
        plain(name) for name in (*(passage.entity for passage in judged.values()), *(item.entity for item in asked))
    }
    others = (article for article in articles if article.id not in documents and plain(article.title) not in entities)
    return share_known(
        asked, (EntityQuestion(item.question, article.title) for article in others for item in article.passages)
    )


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


def _passages(articles: Iterable[HealthArticle], judged: Mapping[str, JudgedPassage]) -> list[_TitledPassage]:
    """Every passage once. Where articles share an id, it belongs to the one whose title is the judged entity."""
    found: dict[str, _TitledPassage] = {}
    for article in articles:
        for passage in article.passages:
            entitled = passage.id in judged and plain(article.title) == plain(judged[passage.id].entity)
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
    lambda settings, options: tasks(settings, options.full, options.baseline),
    options=("full", "baseline", "systems"),
    forms=(
        {},
        {"full": True, "baseline": "", "systems": None},
    ),  # the baseline has 16,373 passages to encode there, for no row of ours
    in_all=("baseline", "systems"),
)

"""Citation integrity: the query is what a paper claims, the answers the paragraphs of the article that it cites.

Paragraphs of one article share sentences, so each of them is an answer; the one chosen for the claim counts twice, and
alone where the judgements are strict. Paragraphs with the same sentences, in whatever order, are one document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from evaluation.corpus.abstracts import abstract, plain
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.citation_integrity import article_of, read_claims, read_paragraphs
from mappings.datasets.scifact import SentenceAbstract
from mappings.documents import Section
from search.settings import Settings

MEASURES = ("nDCG@10", "RR", "Success@1", "Success@5", "Success@20")
OWN, SAME_ARTICLE = 2, 1


def task(settings: Settings) -> Task:
    """The suite: development claims for or against which their paragraph has evidence, one question a wording."""
    paragraphs = {item.id: item for item in read_paragraphs(settings.data) if item.text.strip()}
    kept = _first_twins(paragraphs.values())
    documents = [
        abstract(name, "", [Section("", paragraphs[name].text)], source="citations")
        for name in dict.fromkeys(kept.values())
    ]
    questions: dict[str, Question] = {}
    own: defaultdict[str, set[str]] = defaultdict(set)
    for claim in read_claims(settings.data, "dev"):
        if claim.evidence:
            question = questions.setdefault(plain(claim.text), Question(claim.id, claim.text))
            own[question.id] |= {kept[name] for name in claim.evidence}
    articles = {article_of(name) for names in own.values() for name in names}
    return Task(
        suite="citations",
        corpus=Corpus("citations", "abstracts", lambda: documents),
        questions=tuple(questions.values()),
        judgements={query: _grades(names, kept) for query, names in own.items()},
        strict={query: dict.fromkeys(names, 1) for query, names in own.items()},
        measures=MEASURES,
        notes=(
            f"development claims with evidence for or against them, about {len(articles)} articles: claims about one"
            " article are alike, and the intervals do not know it",
            f"{len(documents):,} distinct paragraphs; strict: only the paragraph that was chosen for the claim",
        ),
        reference=True,
    )


def _first_twins(paragraphs: Iterable[SentenceAbstract]) -> dict[str, str]:
    """The id of each paragraph, and that of the first one with the same sentences."""
    first: dict[frozenset[str], str] = {}
    return {item.id: first.setdefault(frozenset(map(plain, item.sentences)), item.id) for item in paragraphs}


def _grades(own: set[str], kept: Mapping[str, str]) -> dict[str, int]:
    articles = {article_of(name) for name in own}
    same = (name for name in kept.values() if article_of(name) in articles)
    return dict.fromkeys(same, SAME_ARTICLE) | dict.fromkeys(own, OWN)


SUITE = Suite("citations", "claims to the paragraphs that they cite", lambda settings, options: [task(settings)])

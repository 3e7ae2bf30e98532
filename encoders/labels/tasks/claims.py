"""Claims and press releases, labelled with the abstracts behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from encoders.labels.leaks import SAME_CLAIM, Twins
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import split_of
from mappings.datasets import check_covid, citation_integrity, scifact
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.press_releases import read_press_releases
from mappings.datasets.scifact import SentenceAbstract
from mappings.documents import Section


def read_scifact_texts(data: Path | None) -> list[Text]:
    """The 5,183 abstracts of SciFact as passages."""
    return [_text(abstract) for abstract in scifact.read_corpus(data)]


def read_check_covid_texts(data: Path | None) -> list[Text]:
    """The 347 abstracts of Check-COVID as passages."""
    return [_text(abstract) for abstract in check_covid.read_corpus(data)]


def _text(abstract: SentenceAbstract) -> Text:
    return Text(abstract.id, abstract.title, "", abstract.text)


def read_development_citations(data: Path | None) -> frozenset[str]:
    """The ids of the SciFact abstracts that a development claim cites."""
    claims = scifact.read_claims(data, "dev")
    return frozenset(document for claim in claims for document in (*claim.cited, *claim.evidence))


def read_uncited_abstracts(data: Path | None) -> list[SectionedAbstract]:
    """The abstracts of SciFact that no development claim cites, each as one section."""
    cited = read_development_citations(data)
    return [
        SectionedAbstract(f"scifact:{abstract.id}", abstract.title, (Section("", abstract.text),))
        for abstract in scifact.read_corpus(data)
        if abstract.id not in cited
    ]


def label_scifact(data: Path | None, dropped: dict[str, int]) -> Iterator[Pair]:
    """Training claims with every abstract they cite.

    Cited abstracts without annotated evidence count: the claim was written about them, and the published retrieval
    judgements call them relevant. Claims that nearly repeat a development claim are dropped.
    """
    corpus = {text.id: text for text in read_scifact_texts(data)}
    guarded = Twins((claim.text for claim in scifact.read_claims(data, "dev")), 1, SAME_CLAIM)
    for claim in scifact.read_claims(data, "train"):
        relevant = tuple(sorted({*claim.cited, *claim.evidence} & corpus.keys()))
        if claim.text in guarded:
            dropped["scifact claims near a development claim"] += 1
            continue
        for document in relevant:
            group = f"scifact:{relevant[0]}"
            name = f"scifact:{claim.id}:{document}"
            yield Pair("scifact", name, group, split_of(group), "scifact", claim.text, relevant, corpus[document])


def label_check_covid(data: Path | None, dropped: dict[str, int]) -> Iterator[Pair]:
    """News claims with the abstract that supports or refutes them; near-twins of development claims are dropped."""
    corpus = {text.id: text for text in read_check_covid_texts(data)}
    guarded = Twins((claim.text for claim in check_covid.read_claims(data, "dev")), 1, SAME_CLAIM)
    for claim in check_covid.read_claims(data, "train"):
        document = claim.abstract
        if not claim.is_decided or document not in corpus:
            continue
        if claim.text in guarded:
            dropped["check-covid claims near a development claim"] += 1
            continue
        group = f"check-covid:{document}"
        name = f"check-covid:{claim.id}"
        yield Pair(
            "check-covid", name, group, split_of(group), "check-covid", claim.text, (document,), corpus[document]
        )


def read_press_texts(data: Path | None) -> list[Text]:
    """The abstracts' conclusions of the training half of the press releases."""
    return [Text(f"press:{release.id}", "", "", release.conclusion) for release in read_press_releases(data, "train")]


def label_press(data: Path | None, dropped: dict[str, int]) -> Iterator[Pair]:
    """Press-release sentences with the conclusion they report, of the training half."""
    guarded = Twins((release.conclusion for release in read_press_releases(data, "test")), 3, 0.5)
    for release, text in zip(read_press_releases(data, "train"), read_press_texts(data), strict=True):
        if text.text in guarded:
            dropped["press pairs near a test pair"] += 1
            continue
        yield Pair("press", text.id, text.id, split_of(text.id), "press", release.statement, (text.id,), text)


def read_cited_paragraphs(data: Path | None) -> list[Text]:
    """The paragraphs that citing papers' claims are about, without the empty ones."""
    return [_text(item) for item in _cited_paragraphs(data)]


def _cited_paragraphs(data: Path | None) -> Iterator[SentenceAbstract]:
    return (item for item in citation_integrity.read_paragraphs(data) if item.text.strip())


def label_citations(data: Path | None) -> Iterator[Pair]:
    """Training claims about a cited article with the paragraph that has evidence for or against them.

    Paragraphs of one article share sentences: those that hold all the evidence of the claim are known answers, and the others
    are on the claim's subject without its evidence, the hardest negatives there are.
    """
    articles: defaultdict[str, dict[str, SentenceAbstract]] = defaultdict(dict)
    for item in _cited_paragraphs(data):
        articles[citation_integrity.article_of(item.id)][item.id] = item
    for claim in citation_integrity.read_claims(data, "train"):
        for document, marked in sorted(claim.evidence.items()):
            article = citation_integrity.article_of(document)
            paragraphs = articles[article]
            if document in paragraphs:
                proof = {paragraphs[document].sentences[place] for place in marked.sentences}
                relevant = tuple(name for name, item in paragraphs.items() if proof <= set(item.sentences))
                group = f"citation:{article}"
                name = f"citation:{claim.id}:{document}"
                text = _text(paragraphs[document])
                yield Pair("citation", name, group, split_of(group), "citations", claim.text, relevant, text)

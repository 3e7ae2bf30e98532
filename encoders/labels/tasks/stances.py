"""Claims with a text and its stance to them: it supports the claim, refutes it, or does neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.labels.guard import STANCES_OF
from encoders.labels.leaks import SAME_CLAIM, Twins, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import split_of
from encoders.labels.tasks.questions import read_expert_questions
from encoders.labels.tasks.reversed_claims import reverse
from encoders.labels.tasks.trial_claims import label_trial_findings
from encoders.labels.tasks.verified import one_refuted_each
from mappings.analysis.sentences import sentences
from mappings.datasets import bioasq, check_covid, citation_integrity, covid_fact, healthver, pubmedqa, scifact
from mappings.datasets.scifact import ScientificClaim, SentenceAbstract
from mappings.stances import DECIDED, Stance

SNIPPETS: Final = 3
"""The most abstracts of one question of an expert: what they say repeats itself."""
_REVERSED: Final = tuple(f"{STANCES_OF}{name}" for name in ("scifact", "check-covid", "citation"))
_OF_ANSWER: Final[Mapping[str, Stance]] = {"yes": "supports", "no": "refutes", "maybe": "neither"}

Spans = tuple[tuple[int, int], ...]


def label_stances(data: Path, dropped: dict[str, int]) -> dict[str, list[Pair]]:
    """The pairs of each task. Claims of the first three that a text supports are also there turned into their opposite."""
    made = {f"{STANCES_OF}{name}": list(label(data, dropped)) for name, label in _LABELLERS.items()}
    for name in _REVERSED:
        made[name] += _reversed(made[name])
    return made


def sentence_spans(sentences: Iterable[str], places: Iterable[int]) -> Spans:
    """Where the sentences at `places` stand in all of them joined by spaces; a place beyond the last is left out."""
    wanted, start, found = set(places), 0, []
    for place, sentence in enumerate(sentences):
        if place in wanted and sentence:
            found.append((start, start + len(sentence)))
        start += len(sentence) + 1
    return tuple(found)


def _pair(task: str, name: str, group: str, claim: str, text: Text, stance: Stance, evidence: Spans | None) -> Pair:
    """A pair of the corpus that its group begins with, which is that of another task where both read the same texts."""
    key, corpus = f"{STANCES_OF}{task}", group.partition(":")[0]
    return Pair(
        key, f"{key}:{name}", group, split_of(group), corpus, claim, (text.id,), text, stance=stance, evidence=evidence
    )


def excerpt(text: Text, spans: Spans) -> tuple[Text, Spans]:
    """A text of the marked ranges alone, and where they stand in it."""
    parts = [text.text[start:end] for start, end in spans]
    name = f"{text.id}:{'+'.join(str(start) for start, _ in spans)}"
    return replace(text, id=name, text=" ".join(parts)), sentence_spans(parts, range(len(parts)))


def nearest_sentence(text: str, claim: str) -> Spans:
    """The sentence that shares most words with the claim, the first of several; empty for a text without a sentence."""
    wanted = set(normalise(claim).split())
    spans = [(item.start, item.end) for item in sentences(text)]
    return tuple(sorted(spans, key=lambda span: -len(wanted & set(normalise(text[slice(*span)]).split())))[:1])


def _in_short(pair: Pair, spans: Spans) -> Iterator[Pair]:
    """A further pair that shows only the sentences at `spans`, which are evidence unless the stance is `neither`."""
    if spans:
        text, places = excerpt(pair.positive, spans)
        evidence = places if pair.stance in DECIDED else ()
        yield replace(pair, id=f"{pair.id}:short", relevant=(text.id,), positive=text, evidence=evidence)


def label_cited(claim: ScientificClaim, abstract: SentenceAbstract) -> tuple[Stance, Spans]:
    """What an abstract that a claim cites says of it, and where."""
    marked = claim.evidence.get(abstract.id)
    if marked is None:
        return "neither", ()
    return marked.stance, sentence_spans(abstract.sentences, marked.sentences)


def _scifact(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    corpus = {item.id: item for item in scifact.read_corpus(data)}
    guarded = Twins((claim.text for claim in scifact.read_claims(data, "dev")), 1, SAME_CLAIM)
    for claim in scifact.read_claims(data, "train"):
        cited = sorted({*claim.cited, *claim.evidence} & corpus.keys())
        if claim.text in guarded:
            dropped["stance-scifact: claims near a development claim"] += 1
            continue
        for name in cited:
            item = corpus[name]
            text = Text(f"scifact:{name}", item.title, "", item.text)
            stance, spans = label_cited(claim, item)
            pair = _pair("scifact", f"{claim.id}:{name}", f"scifact:{cited[0]}", claim.text, text, stance, spans)
            yield pair
            yield from _in_short(pair, spans or nearest_sentence(text.text, claim.text))


def _check_covid(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Where too little is said, only the sentences that are too little: the abstract can decide on the claim elsewhere."""
    corpus = {item.id: item for item in check_covid.read_corpus(data)}
    guarded = Twins((claim.text for claim in check_covid.read_claims(data, "dev")), 1, SAME_CLAIM)
    for number, claim in enumerate(check_covid.read_claims(data, "train")):
        item = corpus.get(claim.abstract)
        if item is None or claim.text in guarded:
            dropped["stance-check-covid: claims near a development claim, or without an abstract"] += 1
            continue
        spans = sentence_spans(item.sentences, claim.sentences)
        text = Text(f"check-covid:{item.id}", item.title, "", item.text)
        pair = _pair("check-covid", str(number), f"check-covid:{item.id}", claim.text, text, claim.stance, spans)
        if claim.is_decided:
            yield pair
        yield from _in_short(pair, spans)


def _citation(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    corpus = {item.id: item for item in citation_integrity.read_paragraphs(data) if item.text.strip()}
    for claim in citation_integrity.read_claims(data, "train"):
        for name in sorted({*claim.cited, *claim.evidence} & corpus.keys()):
            group, text = f"citation:{citation_integrity.article_of(name)}", corpus[name]
            shown = Text(f"citation:{name}", "", "", text.text)
            yield _pair("citation", f"{claim.id}:{name}", group, claim.text, shown, *label_cited(claim, text))


def _healthver(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    for number, item in enumerate(healthver.read_claims(data)):
        text = Text(f"healthver:{normalise(item.evidence)[:80]}:{len(item.evidence)}", "", "", item.evidence)
        yield _pair(
            "healthver", str(number), f"healthver:{normalise(item.question)}", item.text, text, item.stance, None
        )


def _covid_fact(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    for item in one_refuted_each(covid_fact.read_claims(data)):
        evidence = " ".join(item.evidence)
        text = Text(f"covid-fact:{normalise(evidence)[:80]}:{len(evidence)}", "", "", evidence)
        stance: Stance = "supports" if item.is_supported else "refutes"
        yield _pair("covid-fact", item.id, text.id, item.text, text, stance, None)


def _pubmedqa(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Each question with its whole abstract, whose conclusion is the evidence unless the answer is maybe."""
    for item in pubmedqa.read_questions(data):
        body = " ".join((*item.sections, item.conclusion))
        text = Text(f"pubmedqa:{item.id}", "", "", body)
        spans = ((len(body) - len(item.conclusion), len(body)),) if item.conclusion else None
        stance = _OF_ANSWER[item.answer]
        yield _pair("pubmedqa", item.id, text.id, item.question, text, stance, spans if stance in DECIDED else None)


def _experts(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Questions with the answer yes or no, and what their experts marked, which mostly says that."""
    for item in read_expert_questions(data, Counter()):
        if item.answer:
            for document, text in sorted(bioasq.join_snippets([item]).items())[:SNIPPETS]:
                shown = Text(f"bioasq:{item.id}:{document}", "", "", text)
                stance = _OF_ANSWER[item.answer]
                yield _pair("experts", f"{item.id}:{document}", f"expert:{item.id}", item.text, shown, stance, None)


def _reversed(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Claims that a text supports, with a direction or a number changed, so that it refutes them."""
    for pair in pairs:
        changed = reverse(pair.query, pair.id, pair.positive.text) if pair.stance == "supports" else None
        if changed:
            yield replace(pair, id=f"{pair.id}:reversed", query=changed, stance="refutes")


_LABELLERS: Final[Mapping[str, Callable[[Path, dict[str, int]], Iterator[Pair]]]] = {
    "scifact": _scifact,
    "check-covid": _check_covid,
    "citation": _citation,
    "healthver": _healthver,
    "covid-fact": _covid_fact,
    "trial": label_trial_findings,
    "pubmedqa": _pubmedqa,
    "experts": _experts,
}

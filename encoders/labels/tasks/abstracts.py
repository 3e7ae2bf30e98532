"""Self-labelled abstracts: the query is a title, a conclusion, a research question or a trial's question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from encoders.labels.leaks import Twins, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, is_test_abstract, split_of
from encoders.labels.tasks.claims import read_development_citations
from mappings.analysis.sentences import sentences
from mappings.datasets import abstracts, check_covid, cystic_fibrosis, evidence_inference, scifact
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.evidence_inference import TrialPrompt
from mappings.datasets.press_releases import read_press_releases
from mappings.datasets.pubmedqa import read_questions

LEAST_CHARACTERS: Final = 200
"""A shorter text is hardly an abstract."""
_CONCLUSIONS = ("conclusion", "interpretation", "outcome")
_ANNOUNCED = re.compile(
    r"^(?:(?:in (?:conclusion|summary|sum)|taken together|overall|thus|therefore|together|collectively|conclusions?)\b[,:]?\s*)?"
    r"(?:(?:we|(?:these|our|the|this|present)(?: \w+){0,2}?"
    r" (?:results?|findings?|data|stud(?:y|ies)|observations?|evidence|analys[ei]s|work))"
    r" (?:conclude|propose|provide evidence|identif(?:y|ies)|(?:suggest|indicate|show|demonstrate|support|implicate|"
    r"reveal|establish|find)s?|concluded|proposed|provide[sd] evidence|identified|suggested|indicated|showed|shown|"
    r"demonstrated|supported|implicated|revealed|established|found)\b(?: that\b)?,?\s*)?",
    re.IGNORECASE,
)
"""How a last sentence announces a conclusion: "Taken together, our data suggest that ..."."""


def read_judged_titles(data: Path | None) -> frozenset[str]:
    """Normalised titles of the abstracts that evaluation judges: training makes no title pairs from them."""
    cited = read_development_citations(data)
    train = evidence_inference.read_train_articles(data)
    titles = (
        *(item.title for item in scifact.read_corpus(data) if item.id in cited),
        *(item.title for item in check_covid.read_corpus(data)),
        *(item.title for item in cystic_fibrosis.read_corpus(data)),
        *(item.title for item in evidence_inference.read_abstracts(data) if item.id not in train),
    )
    return frozenset(map(normalise, titles))


def abstract_text(abstract: SectionedAbstract) -> Text:
    """An abstract of the pool as a passage."""
    return Text(abstract.id, abstract.title, "", abstract.text)


def read_pool(data: Path | None, dropped: dict[str, int]) -> list[SectionedAbstract]:
    """The abstracts that training may see.

    Left out are those that are for evaluation, twins of judged ones, by title, and those that a press-release test pair
    quotes.
    """
    titles = read_judged_titles(data)
    quoted = Twins((release.conclusion for release in read_press_releases(data, "test")), 4, 0.7, True)
    kept = []
    for abstract in abstracts.read_abstracts(data):
        if is_test_abstract(abstract.id):
            dropped["abstracts of the twentieth for evaluation"] += 1
        elif normalise(abstract.title) in titles:
            dropped["abstracts whose title is evaluated"] += 1
        elif abstract.text in quoted:
            dropped["abstracts that a press test pair quotes"] += 1
        elif abstract.title and len(abstract.text) >= LEAST_CHARACTERS:
            kept.append(abstract)
    return kept


def label_titles(pool: Iterable[SectionedAbstract], one_in: int) -> Iterator[Pair]:
    """Title -> abstract without its title, for one abstract in `one_in`."""
    for abstract in pool:
        text = abstract_text(abstract)
        if bucket(f"title:{text.id}", one_in) == 0 and len(text.title.split()) >= 5:
            shown = Text(text.id, "", "", text.text)
            yield Pair(
                "title", f"title:{text.id}", text.id, split_of(text.id), "abstracts", text.title, (text.id,), shown
            )


def extract_conclusions(pool: Iterable[SectionedAbstract]) -> dict[str, tuple[str, Text]]:
    """Abstract id -> its conclusion, worded as a claim, and the abstract without the sentence that states it.

    A conclusion is the first sentence of a section labelled as one, or a last sentence that announces it ("these
    results suggest that ..."); the announcement is removed. Abstracts without a conclusion are left out.
    """
    found = {}
    for abstract in pool:
        sections = abstract.sections
        labelled = len(sections) > 2 and sections[-1].heading.lower().startswith(_CONCLUSIONS)
        last = _sentences(sections[-1].text)
        stated = last[0] if labelled else last[-1]
        claim = _ANNOUNCED.sub("", stated, count=1).strip().rstrip(".")
        rest = [section.text for section in sections[:-1]] + ([] if labelled else [" ".join(last[:-1])])
        body = " ".join(filter(None, rest))
        if (
            (labelled or claim != stated.strip().rstrip("."))
            and 6 <= len(claim.split()) <= 40
            and len(body) >= LEAST_CHARACTERS
        ):
            found[abstract.id] = claim[0].upper() + claim[1:], Text(abstract.id, abstract.title, "", body)
    return found


def label_conclusions(conclusions: Mapping[str, tuple[str, Text]], one_in: int) -> Iterator[Pair]:
    """Conclusion -> its abstract without it. No passage of the corpus has its conclusion, so a gap gives nothing away."""
    for name, (claim, text) in conclusions.items():
        if bucket(f"conclusion:{name}", one_in) == 0:
            yield Pair("conclusion", f"conclusion:{name}", name, split_of(name), "findings", claim, (name,), text)


def _sentences(text: str) -> list[str]:
    return [text[item.start : item.end] for item in sentences(text)] or [text]


def label_pubmedqa(data: Path | None, pool_ids: Mapping[str, str]) -> Iterator[Pair]:
    """Research questions -> their abstract without the conclusion that answers them.

    `pool_ids` maps the normalised titles of the pool to ids. A question is the title of its abstract there, so that
    abstract is a known answer too, never a negative.
    """
    for record in read_questions(data):
        if twin := pool_ids.get(normalise(record.question)):
            name = f"pubmedqa:{record.id}"
            text = Text(name, "", "", " ".join(record.sections))
            yield Pair("pubmedqa", name, name, split_of(name), "abstracts", record.question, (name, twin), text)


def label_trials(data: Path | None, dropped: dict[str, int]) -> Iterator[Pair]:
    """Intervention, comparator and outcome, as a question -> the trial's abstract: at most two prompts an article."""
    train, judged = evidence_inference.read_train_articles(data), read_judged_titles(data)
    texts = {abstract.id: trial_text(abstract) for abstract in evidence_inference.read_abstracts(data)}
    used: dict[str, int] = {}
    for prompt in evidence_inference.read_prompts(data):
        article = prompt.article
        if article not in train or article not in texts or used.get(article, 0) == 2:
            continue
        text = texts[article]
        if normalise(text.title) in judged or len(text.text) < LEAST_CHARACTERS:
            dropped["trial prompts whose abstract is evaluated or empty"] += 1
            continue
        used[article] = used.get(article, 0) + 1
        name = f"trial:{prompt.id}"
        yield Pair("trial", name, text.id, split_of(text.id), "abstracts", trial_question(prompt), (text.id,), text)


def trial_text(abstract: SectionedAbstract) -> Text:
    """A trial report's abstract as a passage."""
    return Text(f"pmc:{abstract.id}", abstract.title, "", abstract.text)


def trial_question(prompt: TrialPrompt) -> str:
    """The prompt in one of four phrasings, which its id chooses."""
    values = (prompt.intervention, prompt.comparator, prompt.outcome)
    intervention, comparator, outcome = (value.strip().rstrip(".") for value in values)
    return (
        f"What is the effect of {intervention} compared with {comparator} on {outcome}?",
        f"Does {intervention} change {outcome} compared with {comparator}?",
        f"{intervention} versus {comparator}: {outcome}",
        f"{intervention} reduces or improves {outcome}",
    )[bucket(prompt.id, 4)]

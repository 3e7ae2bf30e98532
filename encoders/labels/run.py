"""Labels the public data sets: `pairs/<task>.jsonl`, `corpora/<corpus>.jsonl` and `counts.json` from the data folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from encoders.labels.counts import Counts, join_counts
from encoders.labels.evaluated import read_judged_data
from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.sieve import Sieve
from encoders.labels.tasks import (
    abstracts,
    claims,
    headlines,
    health,
    notes,
    polarity,
    questions,
    stances,
    summaries,
    terms,
    topics,
    verified,
)
from mappings.clinical.reading import shipped_reader

TITLES_ONE_IN: Final = 5
CONCLUSIONS_ONE_IN: Final = 2

Labelled = tuple[Mapping[str, Iterable[Text]], Mapping[str, Iterable[Pair]]]
"""Corpora by name, and pairs by task."""


def label_datasets(data: Path, out: Path) -> Counts:
    """Write all pairs and corpora; return the counts by task and by corpus, and of what was dropped and why."""
    dropped: Counter[str] = Counter()
    corpora: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    sieve = Sieve(read_judged_data(data), dropped)
    for label in (
        _claims, _abstracts, _health, _notes, _polarity, _verified, _questions, _summaries, _terms, _topics, _stances,
    ):  # fmt: skip
        texts_by_corpus, pairs_by_task = label(data, dropped)
        for name, texts in texts_by_corpus.items():
            corpora[name] += write_lines(out / "corpora" / f"{name}.jsonl", sieve.filter_corpus(name, texts))
        for task, found in pairs_by_task.items():
            pairs[task] += write_lines(out / "pairs" / f"{task}.jsonl", sieve.filter_pairs(found))
    return join_counts(out, {"pairs": dict(pairs), "corpora": dict(corpora), "dropped": dict(dropped)})


def _claims(data: Path, dropped: Counter[str]) -> Labelled:
    corpora = {
        "scifact": claims.read_scifact_texts(data),
        "check-covid": claims.read_check_covid_texts(data),
        "press": claims.read_press_texts(data),
        "citations": claims.read_cited_paragraphs(data),
    }
    return corpora, {
        "scifact": claims.label_scifact(data, dropped),
        "check-covid": claims.label_check_covid(data, dropped),
        "press": claims.label_press(data, dropped),
        "citation": claims.label_citations(data),
    }


def _abstracts(data: Path, dropped: Counter[str]) -> Labelled:
    pool = abstracts.read_pool(data, dropped)
    conclusions = abstracts.extract_conclusions([*pool, *claims.read_uncited_abstracts(data)])
    corpora = {"abstracts": map(abstracts.abstract_text, pool), "findings": [text for _, text in conclusions.values()]}
    return corpora, {
        "title": abstracts.label_titles(pool, TITLES_ONE_IN),
        "conclusion": abstracts.label_conclusions(conclusions, CONCLUSIONS_ONE_IN),
        headlines.TASK: headlines.label_headlines(conclusions, shipped_reader(), dropped, CONCLUSIONS_ONE_IN),
        "pubmedqa": abstracts.label_pubmedqa(data, {normalise(abstract.title): abstract.id for abstract in pool}),
        "trial": abstracts.label_trials(data, dropped),
    }


def _health(data: Path, dropped: Counter[str]) -> Labelled:
    articles = health.read_training_articles(data, dropped)
    noted = notes.long_sections(notes.read_training_notes(data, Counter()))
    pairs = list(health.label_health(articles, (text.heading for text in noted)))
    tasks = {task: [pair for pair in pairs if pair.task == task] for task in ("question", "slots")}
    return {"health": health.health_texts(articles)}, tasks


def _notes(data: Path, dropped: Counter[str]) -> Labelled:
    found = notes.read_training_notes(data, dropped)
    return {"notes": notes.long_sections(found)}, {"note": notes.label_notes(found)}


def _polarity(data: Path, dropped: Counter[str]) -> Labelled:
    """Generated sentences need no data; their pairs already have negatives."""
    pairs = polarity.make_polarity_pairs()
    return {polarity.TASK: {pair.positive.id: pair.positive for pair in pairs}.values()}, {polarity.TASK: pairs}


def _verified(data: Path, dropped: Counter[str]) -> Labelled:
    checked = verified.read_checked_claims(data, dropped)
    return {verified.TASK: verified.evidence_texts(checked)}, {verified.TASK: verified.label_verified(checked)}


def _questions(data: Path, dropped: Counter[str]) -> Labelled:
    asked, entailed = questions.read_expert_questions(data, dropped), questions.read_entailed(data, dropped)
    corpora = {questions.EXPERTS: questions.expert_texts(asked), questions.SHORT: questions.short_texts(entailed)}
    return corpora, {"expert": questions.label_experts(asked), "entailed": questions.label_entailed(entailed)}


def _summaries(data: Path, dropped: Counter[str]) -> Labelled:
    whole, told = summaries.read_training_summaries(data), summaries.read_training_sentences(data, dropped)
    corpora = {"summaries": summaries.technical_texts(whole), summaries.SENTENCES: summaries.sentence_texts(told)}
    return corpora, {"summary": summaries.label_summaries(whole), "lay-sentence": summaries.label_sentences(told)}


def _terms(data: Path, dropped: Counter[str]) -> Labelled:
    found = terms.read_names(data, dropped)
    corpora = {terms.DEFINITIONS: terms.definition_texts(found), terms.NAMES: terms.name_texts(found)}
    return corpora, {"definition": terms.label_definitions(found), "lay-name": terms.label_lay_names(found)}


def _topics(data: Path, dropped: Counter[str]) -> Labelled:
    """They are no pairs, but documents whose sections have headings: for models that read whole documents."""
    pool = abstracts.read_pool(data, Counter())  # what it drops is counted with the other pairs of abstracts
    asked = questions.read_expert_questions(data, Counter())
    return {topics.CORPUS: topics.label_topics(pool, asked, shipped_reader(), dropped)}, {}


def _stances(data: Path, dropped: Counter[str]) -> Labelled:
    """Their texts are no corpus of their own: nothing is mined for a stance."""
    return {}, stances.label_stances(data, dropped)

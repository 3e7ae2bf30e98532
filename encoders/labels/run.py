"""From the data folder to training pairs: `pairs/<task>.jsonl`, `corpora/<corpus>.jsonl` and `counts.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from encoders.labels import abstracts, claims, health, notes, polarity
from encoders.labels.counts import Counts, join_counts
from encoders.labels.evaluated import evaluated
from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.sieve import Sieve

TITLES_ONE_IN = 5
CONCLUSIONS_ONE_IN = 2


def label(data: Path, out: Path) -> Counts:
    """Write all pairs and corpora of the public data sets; the counts by task, by corpus and of what was dropped."""
    dropped: Counter[str] = Counter()
    corpora: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    sieve = Sieve(evaluated(data), dropped)
    for part in (_claims, _abstracts, _health, _notes, _polarity):
        made, found = part(data, dropped)
        for name, texts in made.items():
            corpora[name] += write_lines(out / "corpora" / f"{name}.jsonl", sieve.corpus(name, texts))
        for task, items in found.items():
            pairs[task] += write_lines(out / "pairs" / f"{task}.jsonl", sieve.pairs(items))
    return join_counts(out, {"pairs": dict(pairs), "corpora": dict(corpora), "dropped": dict(dropped)})


Made = tuple[Mapping[str, Iterable[Text]], Mapping[str, Iterable[Pair]]]
"""Corpora by name, and pairs by task."""


def _claims(data: Path, dropped: Counter[str]) -> Made:
    corpora = {
        "scifact": claims.scifact_corpus(data),
        "check-covid": claims.check_covid_corpus(data),
        "press": claims.press_corpus(data),
    }
    return corpora, {
        "scifact": claims.scifact(data, dropped),
        "check-covid": claims.check_covid(data, dropped),
        "press": claims.press(data, dropped),
    }


def _abstracts(data: Path, dropped: Counter[str]) -> Made:
    found = abstracts.pool(data, dropped)
    stated = abstracts.findings([*found, *claims.scifact_records(data)])
    corpora = {"abstracts": map(abstracts.pool_text, found), "findings": [text for _, text in stated.values()]}
    return corpora, {
        "title": abstracts.titles(found, TITLES_ONE_IN),
        "conclusion": abstracts.conclusions(stated, CONCLUSIONS_ONE_IN),
        "pubmedqa": abstracts.pubmedqa(data, {normalise(record["title"]): record["doc_id"] for record in found}),
        "trial": abstracts.trials(data, dropped),
    }


def _health(data: Path, dropped: Counter[str]) -> Made:
    found = health.training_documents(data, dropped)
    pairs = list(health.health(found))
    tasks = {task: [pair for pair in pairs if pair.task == task] for task in ("question", "slots")}
    return {"health": health.health_corpus(found)}, tasks


def _notes(data: Path, dropped: Counter[str]) -> Made:
    found = notes.training_notes(data, dropped)
    return {"notes": notes.notes_corpus(found)}, {"note": notes.notes(found)}


def _polarity(data: Path, dropped: Counter[str]) -> Made:
    """Made sentences need no data; their pairs have their negatives already."""
    found = polarity.polarity()
    return {polarity.TASK: {pair.positive.id: pair.positive for pair in found}.values()}, {polarity.TASK: found}

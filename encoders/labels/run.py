"""From the data folder to training pairs: `pairs/<task>.jsonl`, `corpora/<corpus>.jsonl` and `counts.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson

from encoders.labels import abstracts, claims, health, notes
from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, write_lines

TITLES_ONE_IN = 5
CONCLUSIONS_ONE_IN = 2


def label(data: Path, out: Path) -> dict[str, dict[str, int]]:
    """Write all pairs and corpora of the public data sets; the counts by task, by corpus and of what was dropped."""
    dropped: Counter[str] = Counter()
    corpora: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for part in (_claims, _abstracts, _health, _notes):
        written_corpora, written_pairs = part(data, out, dropped)
        corpora.update(written_corpora)
        pairs.update(written_pairs)
    counts = {"pairs": dict(pairs), "corpora": dict(corpora), "dropped": dict(dropped)}
    (out / "counts.json").write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2))
    return counts


Written = tuple[dict[str, int], dict[str, int]]


def _claims(data: Path, out: Path, dropped: Counter[str]) -> Written:
    made = {
        "scifact": (claims.scifact_corpus(data), claims.scifact(data, dropped)),
        "check-covid": (claims.check_covid_corpus(data), claims.check_covid(data, dropped)),
        "press": (claims.press_corpus(data), claims.press(data, dropped)),
    }
    corpora = {name: write_lines(_corpus(out, name), corpus) for name, (corpus, _) in made.items()}
    return corpora, {name: _write(out, name, pairs) for name, (_, pairs) in made.items()}


def _abstracts(data: Path, out: Path, dropped: Counter[str]) -> Written:
    found = abstracts.pool(data, dropped)
    stated = abstracts.findings([*found, *claims.scifact_records(data)])
    made = {
        "title": abstracts.titles(found, TITLES_ONE_IN),
        "conclusion": abstracts.conclusions(stated, CONCLUSIONS_ONE_IN),
        "pubmedqa": abstracts.pubmedqa(data, {normalise(record["title"]): record["doc_id"] for record in found}),
        "trial": abstracts.trials(data, dropped),
    }
    corpora = {
        "abstracts": write_lines(_corpus(out, "abstracts"), map(abstracts.pool_text, found)),
        "findings": write_lines(_corpus(out, "findings"), [text for _, text in stated.values()]),
    }
    return corpora, {name: _write(out, name, pairs) for name, pairs in made.items()}


def _health(data: Path, out: Path, dropped: Counter[str]) -> Written:
    found = health.training_documents(data, dropped)
    pairs = list(health.health(found))
    corpora = {"health": write_lines(_corpus(out, "health"), health.health_corpus(found))}
    return corpora, {t: _write(out, t, (p for p in pairs if p.task == t)) for t in ("question", "slots")}


def _notes(data: Path, out: Path, dropped: Counter[str]) -> Written:
    found = notes.training_notes(data, dropped)
    corpora = {"notes": write_lines(_corpus(out, "notes"), notes.notes_corpus(found))}
    return corpora, {"note": _write(out, "note", notes.notes(found))}


def _corpus(out: Path, name: str) -> Path:
    return out / "corpora" / f"{name}.jsonl"


def _write(out: Path, task: str, pairs: Iterable[Pair]) -> int:
    return write_lines(out / "pairs" / f"{task}.jsonl", pairs)

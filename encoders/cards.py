"""A model card (Mitchell et al. 2019), generated as Markdown from the manifest, so that the two can't disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_USE: Final = {
    "bi-encoder": "Vectors of queries and passages for nearest-neighbour search, by cosine.",
    "cross-encoder": "Reading a query and a passage together and scoring how well the passage answers, to order candidates.",
    "stance-classifier": "Reading what a passage says of a claim (it supports it, refutes it, or neither) and in which sentences.",
    "poly-encoder": "Scoring stored token vectors of passages against a query, to order candidates quickly.",
}
_LIMITS: Final = (
    "English medical text. Nothing is known about other languages.",
    "No use in diagnosis or treatment without a person who reads the passage itself.",
)
_ORDERS: Final = (
    "It orders texts; it does not judge whether a claim is true, and its scores are no probabilities of anything."
)
_READS: Final = (
    "It says what a passage says of a claim, not whether the claim is true; its probabilities are not calibrated."
)
_POOLED: Final = {
    "late": " A passage is read once; its windows are means over their own tokens there.",
    "late-context": " A passage is read once; its windows are means over their own tokens there and those of its title.",
}


def markdown(manifest: Mapping[str, Any]) -> str:
    """The card: use, reading, data, recipe, scores, gate, limits. Sections that the manifest has no data for are omitted."""
    card = manifest.get("card", {})
    sections = [
        ("Intended use", [card.get("intended_use") or _USE.get(manifest["kind"], "")]),
        ("How it reads", _reading(manifest)),
        ("Training data", _data(card.get("data", {}))),
        ("Recipe", _recipe(card.get("recipe", {}))),
        ("Scores on held-out training pairs", _scores(card.get("held_out", {}))),
        ("Scores on test sets", _measured(card.get("measured", []))),
        ("What the export measured", _gate(manifest.get("gate", {}))),
        ("Limits and known failures", _list([*card.get("known_failures", ()), _use_limit(manifest), *_LIMITS])),
        ("Notes", _list(card.get("notes", ()))),
    ]
    whole = [f"# {manifest['name']}", "", _summary(manifest, card)]
    for title, lines in sections:
        if lines and any(lines):
            whole += ["", f"## {title}", "", *lines]
    return "\n".join(whole) + "\n"


def _use_limit(manifest: Mapping[str, Any]) -> str:
    return _READS if manifest["kind"] == "stance-classifier" else _ORDERS


def _summary(manifest: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    parts = [
        f"A {manifest['kind']} from {card.get('base', 'an unnamed base')}",
        f"licence: {card.get('licence', 'that of the base')}",
        f"fingerprint {str(manifest.get('fingerprint', ''))[:12]}",
    ]
    return "; ".join(parts) + "."


def _reading(manifest: Mapping[str, Any]) -> list[str]:
    reading = manifest["reading"]
    lengths = f"Queries up to {reading['query_tokens']} tokens"
    if manifest["kind"] in ("cross-encoder", "stance-classifier"):
        lengths += f", query and passage together up to {reading['passage_tokens']}"
        lengths += f"; a passage that is too long loses its {reading.get('cut', 'end')}."
        return [lengths]
    lengths += f", passages up to {reading['passage_tokens']}; {manifest['dimension']} dimensions, {reading['pooling']} pooling"
    pooled = _POOLED.get(reading.get("windows", ""), "")
    return [lengths + (", unit length." if reading["normalise"] else ".") + pooled]


def _data(data: Mapping[str, Any]) -> list[str]:
    pairs, licences = data.get("training_pairs", {}), data.get("licences", {})
    if not pairs:
        return []
    lines = _table(("task", "pairs", "licence"), [(name, f"{count:,}", licences.get(name, "")) for name, count in pairs.items()])  # fmt: skip
    dropped = [f"{count:,} {name}" for name, count in data.get("dropped", {}).items()]
    mining = [f"Hard negatives: {data['mining']}."] if data.get("mining") else []
    return [*lines, *(["", f"Dropped before: {'; '.join(dropped)}."] if dropped else []), *mining]


def _recipe(recipe: Mapping[str, Any]) -> list[str]:
    plain = {name: value for name, value in recipe.items() if name != "tasks" and value not in (None, "", [], ())}
    if not plain:
        return []
    tasks = [f"{name} {_settings(share)}" for name, share in recipe.get("tasks", {}).items()]
    return [_settings(plain) + ".", *(["", "Tasks: " + "; ".join(tasks) + "."] if tasks else [])]


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value != 1_000_000)


def _scores(held_out: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    trained, base = held_out.get("trained", {}), held_out.get("base", {})
    if any("macro_F1" in row for row in trained.values()):
        return _stance_scores(trained)
    rows = [
        (task, str(row.get("queries", "")), f"{base[task]['RR']:.3f}" if task in base else "", f"{row['RR']:.3f}")
        for task, row in trained.items()
    ]
    return _table(("task", "queries", "RR of the base", "RR"), rows) if rows else []


def _stance_scores(trained: Mapping[str, Mapping[str, float]]) -> list[str]:
    rows = [
        (task, f"{row['queries']:.0f}" if "queries" in row else "", f"{row['macro_F1']:.3f}", f"{row['hit@2']:.3f}" if "hit@2" in row else "")
        for task, row in trained.items()
    ]  # fmt: skip
    return _table(("task", "pairs", "macro F1 of the stance", "hit@2 of the evidence"), rows)


def _measured(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    made = [(str(row["suite"]), str(row["system"]), str(row["measure"]), f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})", f"`{row['command']}`") for row in rows]  # fmt: skip
    return _table(("suite", "system", "measure", "value", "command"), made) if made else []


def _gate(gate: Mapping[str, Any]) -> list[str]:
    rows = [
        (form, f"{figures['spearman']:.4f}", f"{figures.get('ndcg_change', 0.0):+.4f}")
        for form, figures in gate.get("forms", {}).items()
    ]
    return _table(("form", "Spearman with the unrounded model", "change of nDCG@10"), rows) if rows else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def _list(items: Iterable[str]) -> list[str]:
    return [f"- {item}" for item in items]

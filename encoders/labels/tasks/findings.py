"""Self-labelled reports (RADIOLOGY R3): the query is a finding, present or ruled out; all sentences that say so answer it.

A pair is one query and one sentence. Its hard negatives say the opposite of the same finding, or the same of another.
Each fold has only the pairs of its own findings. A sentence that also states findings of the other fold stays, with
the labels of its own fold: no query, label or negative of a fold is made from a finding of the other. Each fold also has
the pairs of `polarity` and `substituted`, whose names are not findings at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from encoders.labels.counts import LICENCES, Counts, join_counts
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.phrasing import query
from encoders.labels.sentences import (
    FOLDS,
    INDIANA,
    MTSAMPLES,
    Concept,
    LabelledSentence,
    assign_folds,
    match_concepts,
    read_sentences,
)
from encoders.labels.split import bucket, split_of
from encoders.labels.tasks.polarity import TASK as POLARITY
from encoders.labels.tasks.polarity import make_polarity_pairs
from encoders.labels.tasks.substituted import TASK as SUBSTITUTED
from encoders.labels.tasks.substituted import make_substituted_pairs
from mappings.analysis.mentions.finding_lexicon import family

TASK: Final = "finding"
REPORTS_OF: Final = "reports"
"""The key, in the counts that go into a model's card, of the collection that its findings are from."""
_FREE: Final = {TASK: "CC0", SUBSTITUTED: "CC0, names by this project"}
"""The licences where the reports are notes of MTSamples."""
OPPOSITE, OTHER = 4, 2
"""Hard negatives in each pair: sentences of the opposite polarity, and of other findings in the same polarity."""


def label_findings(data: Path, out: Path, reports: str = INDIANA) -> Counts:
    """Write pairs, corpus, folds and counts of the `reports`; return the counts. Raises as `read_sentences` does."""
    found = read_sentences(data, reports, training=True)
    matched = match_concepts(found)
    sides = assign_folds(matched)
    whole = list(_pairs(found, matched, dict.fromkeys(sides, 0)))
    write_lines(out / "pairs" / f"{TASK}.jsonl", whole)
    write_lines(out / "corpora" / "sentences.jsonl", (_text(sentence) for sentence in found))
    generated = make_polarity_pairs()
    write_lines(out / "corpora" / f"{POLARITY}.jsonl", {pair.positive.id: pair.positive for pair in generated}.values())
    for folder in ("pairs", *(f"fold-{fold}" for fold in FOLDS)):
        write_lines(out / folder / f"{POLARITY}.jsonl", generated)
    by_fold = {fold: list(_pairs(found, matched, sides, fold)) for fold in FOLDS}
    substituted = {fold: make_substituted_pairs(found, sides, fold) for fold in FOLDS}
    for fold, pairs in by_fold.items():
        write_lines(out / f"fold-{fold}" / f"{TASK}.jsonl", pairs)
        write_lines(out / f"fold-{fold}" / f"{SUBSTITUTED}.jsonl", substituted[fold])
    counts = _counts(found, matched, sides) | {
        REPORTS_OF: reports,
        "pairs": {TASK: len(whole), POLARITY: len(generated)},
        "folds": _fold_counts(by_fold, matched, sides),
    }
    known = LICENCES | (_FREE if reports == MTSAMPLES else {})
    join_counts(out / "pairs", {REPORTS_OF: reports, "pairs": counts["pairs"]}, known)
    for fold, pairs in by_fold.items():
        here = {TASK: len(pairs), POLARITY: len(generated), SUBSTITUTED: len(substituted[fold])}
        join_counts(out / f"fold-{fold}", {"fold": fold, REPORTS_OF: reports, "pairs": here}, known)
    return join_counts(out, counts, known)


def _pairs(
    found: Sequence[LabelledSentence], matched: Mapping[Concept, Sequence[str]], sides: Mapping[str, int], fold: int = 0
) -> Iterator[Pair]:
    """The pairs of the findings of one fold, sentence by sentence."""
    texts = {sentence.id: sentence for sentence in found}
    mine = {concept: ids for concept, ids in matched.items() if sides[concept.finding] == fold}
    for concept, ids in mine.items():
        relevant = tuple(ids)
        for identifier in ids:
            key = f"{TASK}:{concept.finding}:{'yes' if concept.present else 'no'}:{identifier}"
            yield Pair(
                TASK,
                key,
                family(concept.finding),
                split_of(family(concept.finding)),
                "sentences",
                query(concept, key),
                relevant,
                _text(texts[identifier]),
                tuple(_text(texts[other]) for other in _negatives(concept, key, mine, texts)),
            )


def _negatives(
    concept: Concept, key: str, mine: Mapping[Concept, Sequence[str]], texts: Mapping[str, LabelledSentence]
) -> list[str]:
    others = [
        other for other in mine if other.present == concept.present and family(other.finding) != family(concept.finding)
    ]
    opposite = list(mine.get(concept.opposite, ()))
    chosen = _draw(opposite, f"opposite:{key}", OPPOSITE)
    for number in range(OTHER if others else 0):
        other = others[bucket(f"other:{number}:{key}", len(others))]
        chosen += _draw(mine[other], f"of:{number}:{key}", 1)
    return [item for item in dict.fromkeys(chosen) if _is_negative(texts[item], concept)]


def _is_negative(sentence: LabelledSentence, concept: Concept) -> bool:
    """Whether a sentence certainly does not match: it neither states the concept nor leaves it open."""
    return sentence.labels.get(concept.finding) != concept.present and concept.finding not in sentence.doubts


def _draw(ids: Sequence[str], key: str, number: int) -> list[str]:
    """Up to `number` of `ids`, from a place that a hash chooses."""
    start = bucket(key, len(ids)) if ids else 0
    return [ids[(start + step * 7919) % len(ids)] for step in range(min(number, len(ids)))]


def _text(sentence: LabelledSentence) -> Text:
    return Text(sentence.id, "", "", sentence.text)


def _counts(
    found: Sequence[LabelledSentence], matched: Mapping[Concept, Sequence[str]], sides: Mapping[str, int]
) -> dict[str, Any]:
    """How many sentences, labels and findings there are; `dropped` are sentences and labels that give no pair."""
    sizes = {
        present: sum(len(ids) for concept, ids in matched.items() if concept.present == present)
        for present in (True, False)
    }
    return {
        "sentences": len(found),
        "labels": sum(sizes.values()),
        "findings": len(sides),
        "positives": sizes[True],
        "negatives": sizes[False],
        "dropped": {
            "sentences without a finding": sum(not sentence.labels for sentence in found),
            "labels that a sentence leaves open": sum(len(sentence.doubts) for sentence in found),
        },
    }


def _fold_counts(
    by_fold: Mapping[int, Sequence[Pair]], matched: Mapping[Concept, Sequence[str]], sides: Mapping[str, int]
) -> dict[str, Any]:
    return {
        str(fold): {
            "pairs": len(pairs),
            "held-out": sum(pair.split == "held-out" for pair in pairs),
            "findings": sum(side == fold for side in sides.values()),
            "positive queries": sum(concept.present and sides[concept.finding] == fold for concept in matched),
            "negative queries": sum(not concept.present and sides[concept.finding] == fold for concept in matched),
        }
        for fold, pairs in by_fold.items()
    }

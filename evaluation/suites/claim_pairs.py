"""Claims with an abstract and its stance, from the development claims of SciFact and Check-COVID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from encoders.labels.tasks.stances import label_cited, sentence_spans
from mappings.datasets import check_covid, scifact
from mappings.stances import ClaimPassage, Stance

SCIFACT: Final = "scifact"
CHECK_COVID: Final = "check-covid"
WHOLE: Final = "check-covid, whole abstracts"


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A claim with a passage and its stance; `marked` are the characters of the passage's text that show it."""

    id: str
    claim: str
    passage: ClaimPassage
    stance: Stance
    marked: tuple[tuple[int, int], ...] = ()


def suite_pairs(data: Path | None, split: str = "dev") -> Mapping[str, list[ClaimPair]]:
    """The pairs of each data set, and of Check-COVID's whole abstracts. Raises `NotFound` for missing data."""
    return {SCIFACT: _scifact(data, split), CHECK_COVID: _check_covid(data, split), WHOLE: _decided(data, split)}


def _scifact(data: Path | None, split: str) -> list[ClaimPair]:
    corpus = {item.id: item for item in scifact.read_corpus(data)}
    found = []
    for claim in scifact.read_claims(data, split):
        for name in sorted({*claim.cited, *claim.evidence} & corpus.keys()):
            item = corpus[name]
            stance, marked = label_cited(claim, item)
            passage = ClaimPassage.of(item.text, item.title)
            found.append(ClaimPair(f"{claim.id}:{name}", claim.text, passage, stance, marked))
    return found


def _check_covid(data: Path | None, split: str) -> list[ClaimPair]:
    """The sentences that annotators read, after the title."""
    corpus = {item.id: item for item in check_covid.read_corpus(data)}
    found = []
    for number, claim in enumerate(check_covid.read_claims(data, split)):
        item = corpus[claim.abstract]
        spans = sentence_spans(item.sentences, claim.sentences)
        text = " ".join(item.text[start:end] for start, end in spans) or item.text
        found.append(ClaimPair(str(number), claim.text, ClaimPassage.of(text, item.title), claim.stance))
    return found


def _decided(data: Path | None, split: str) -> list[ClaimPair]:
    """Whole abstracts, of the claims that they decide on."""
    corpus = {item.id: item for item in check_covid.read_corpus(data)}
    found = []
    for number, claim in enumerate(check_covid.read_claims(data, split)):
        if claim.is_decided:
            item = corpus[claim.abstract]
            marked = sentence_spans(item.sentences, claim.sentences)
            passage = ClaimPassage.of(item.text, item.title)
            found.append(ClaimPair(str(number), claim.text, passage, claim.stance, marked))
    return found


def sampled(pairs: Sequence[ClaimPair], size: int | None) -> list[ClaimPair]:
    """A fixed sample of the pairs."""
    if size is None or size >= len(pairs):
        return list(pairs)
    return sorted(pairs, key=lambda item: sha256(f"{item.id}:{item.claim}".encode()).digest())[:size]

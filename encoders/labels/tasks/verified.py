"""Claims about COVID-19 from web searches and discussions, labelled with the evidence that supports or refutes them.

Evidence that is neutral to a claim is no negative here: it is of the same search, in the same corpus, and mining finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, link, split_of
from mappings.datasets import covid_fact, healthver
from mappings.datasets.covid_fact import DiscussedClaim

TASK: Final = "verified"
"""The task and its corpus."""


class Checked(NamedTuple):
    """A claim with a piece of evidence, and whether that settles it."""

    id: str
    claim: str
    evidence: str
    is_decided: bool


def read_checked_claims(data: Path | None, dropped: dict[str, int]) -> list[Checked]:
    """The claims of both data sets. Of those that were refuted by replacing words, one for each set of evidence."""
    found = [
        Checked(f"healthver:{claim.id}", claim.text, claim.evidence, claim.is_decided)
        for claim in healthver.read_claims(data)
    ]
    discussed = list(covid_fact.read_claims(data))
    kept = one_refuted_each(discussed)
    dropped["verified: further claims that replace words of one"] += len(discussed) - len(kept)
    return found + [Checked(f"covid-fact:{claim.id}", claim.text, " ".join(claim.evidence), True) for claim in kept]


def one_refuted_each(discussed: Iterable[DiscussedClaim]) -> list[DiscussedClaim]:
    """The supported claims, then of the refuted ones, which replace words of these, one for each set of evidence."""
    discussed = list(discussed)
    refuted = (claim for claim in discussed if not claim.is_supported)
    ordered = sorted(refuted, key=lambda claim: bucket(f"verified:{claim.id}", 2**32))
    return [claim for claim in discussed if claim.is_supported] + list(
        {claim.evidence: claim for claim in ordered}.values()
    )


def evidence_texts(found: Iterable[Checked]) -> list[Text]:
    """The distinct pieces of evidence, neutral ones too."""
    first = {normalise(item.evidence): item for item in reversed(list(found))}
    return [Text(f"evidence:{item.id}", "", "", item.evidence) for item in first.values()]


def label_verified(found: Iterable[Checked]) -> Iterator[Pair]:
    """Claim -> evidence for or against it. Claims with evidence in common are one group."""
    found = list(found)
    texts = {normalise(text.text): text for text in evidence_texts(found)}
    decided = [item for item in found if item.is_decided]
    answers: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in decided:
        answers[normalise(item.claim)][texts[normalise(item.evidence)].id] = None
    groups = link((claim, *evidence) for claim, evidence in answers.items())
    for item in decided:
        claim, text = normalise(item.claim), texts[normalise(item.evidence)]
        group = f"{TASK}:{groups[claim]}"
        yield Pair(TASK, f"{TASK}:{item.id}", group, split_of(group), TASK, item.claim, tuple(answers[claim]), text)

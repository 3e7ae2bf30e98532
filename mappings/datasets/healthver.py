"""HealthVer (Sarrouti et al. 2021): claims about COVID-19 from web searches, each with evidence of an abstract.

Nothing says which abstract a piece of evidence is from, so no suite can rank abstracts for a claim. 474 texts are the
evidence of 1,917 pairs: the sentences that a search found for a question stand beside each claim about it, and half of
the pairs are NEUTRAL. 198 pairs repeat an earlier one; no two contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records
from mappings.stances import Stance, stance_of_label

NAME: Final = "healthver"


@dataclass(frozen=True, slots=True)
class WebClaim:
    """A claim, the question searched for, a piece of evidence, and the stance of the evidence."""

    id: str
    question: str
    text: str
    evidence: str
    stance: Stance

    @property
    def is_decided(self) -> bool:
        """Whether the evidence supports or refutes the claim."""
        return self.stance != "neither"


def read_claims(data: Path | None) -> Iterator[WebClaim]:
    """The 1,917 pairs of a claim and evidence, of 230 claims."""
    names = ("id", "question", "claim", "evidence", "label")
    for record in dataset_records(data, f"{NAME}/pairs", names):
        identifier, question, claim, evidence, label = (record[name] for name in names)
        yield WebClaim(identifier, question, claim, evidence, stance_of_label(label))

"""How much the concepts of a text weigh in its vector; which concepts these are is read by `mappings.clinical.marking`."""

from __future__ import annotations

from dataclasses import dataclass

from mappings import checks


@dataclass(frozen=True, slots=True)
class Marking:
    """How much clinical concepts weigh in the vectors of passages and queries, besides their words.

    `stated` is for concepts that a text says or supposes to be so (0: these are left to the words), `ruled_out` for those
    that it rules out, whose mentions leave the words. Each is multiplied by the share of the words that name them.
    """

    stated: float
    ruled_out: float

    def __post_init__(self) -> None:
        checks.check_weight("passages.marking.stated", self.stated)
        checks.check_weight("passages.marking.ruled_out", self.ruled_out)
        if not self.ruled_out:
            raise ValueError("passages.marking.ruled_out must be greater than 0; without marking, leave marking out")

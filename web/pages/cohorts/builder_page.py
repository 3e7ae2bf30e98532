"""What the page of a cohort shows: the form with its rows, the counts, and a page of patients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mappings.bundles import TermBundle
from mappings.clinical.concepts import ConceptLexicon
from mappings.collection import Collection
from mappings.errors import MedleyError
from search.cohorts.definition import CohortDefinition
from search.cohorts.results import CohortPage
from search.kept.items import KeptItem
from web.pages.assertions import ASKS, SAYS
from web.pages.cohorts.criteria_form import CriterionRow, RowError, rows_of
from web.pages.cohorts.patients_view import PatientView, patient_views
from web.pages.formatting import count_noun

GROUPS_IN_WORDS: Final[Mapping[str, str]] = {"all": "with", "any": "with one of", "none": "without"}
PATIENTS_ON_A_PAGE: Final = 20


@dataclass(frozen=True, slots=True)
class KeptCohort:
    """What the form carries of the saved cohort that it was opened from, and what is typed to save it."""

    id: str = ""
    revision: int = 0
    name: str = ""
    own: bool = True
    shared_with: Sequence[str] = ()


@dataclass(slots=True)
class BuilderPage:
    """The page of a cohort. `order` has for each criterion of the definition the place of its row.

    `bundles` has those of the caller by how a row names them; `asked` the bundle of each row that asks for one.
    """

    collection: Collection
    collections: Sequence[Collection]
    lexicon: ConceptLexicon | None
    rows: Sequence[CriterionRow]
    kept: KeptCohort = KeptCohort()
    bundles: Mapping[str, KeptItem] = field(default_factory=dict)
    asked: Mapping[int, TermBundle] = field(default_factory=dict)
    order: Sequence[int] = ()
    error: MedleyError | None = None
    other: KeptItem | None = None
    saved: bool = False
    later: bool = False
    answer: CohortPage | None = None
    patients: Sequence[PatientView] = field(default_factory=tuple)

    def show(self, answer: CohortPage, definition: CohortDefinition) -> None:
        """Show a page of the cohort that the rows define."""
        self.answer = answer
        placed = zip(self.order, definition.criteria, strict=True)
        self.asked = {place: item.bundle for place, item in placed if item.bundle}
        asked = [(place + 1, self._sentence(place)) for place in self.order]
        self.patients = patient_views(answer.patients, self.collection, asked)

    def _sentence(self, place: int) -> str:
        row, bundle = self.rows[place], self.asked.get(place)
        return sentence(replace(row, concept=f"bundle {bundle.name}") if bundle else row)

    @property
    def named_bundles(self) -> dict[str, str]:
        """Id -> how a row names the bundle."""
        return {item.id: reference for reference, item in self.bundles.items()}

    @property
    def word(self) -> str:
        """What documents belong to, such as `patient`."""
        return self.collection.fields[self.collection.group_by].title.lower()

    @property
    def title(self) -> str:
        """The name of the saved cohort, or that it is a new one."""
        return self.kept.name if self.kept.id and self.kept.name else "A new cohort"

    @property
    def groups(self) -> Mapping[str, str]:
        """The groups of a row, in words."""
        return GROUPS_IN_WORDS

    @property
    def total(self) -> str:
        """How many patients meet the definition, of how many."""
        if self.answer is None:
            return ""
        verb = "meets" if self.answer.total == 1 else "meet"
        known = count_noun(self.answer.patients_known, self.word) or f"0 {self.word}s"
        return f"{self.answer.total:,} of {known} {verb} these rows"

    @property
    def assertions(self) -> Mapping[str, str]:
        """What can be stated of a concept, in words."""
        return SAYS

    @property
    def other_rows(self) -> Sequence[CriterionRow]:
        """The rows of the saved cohort that was changed somewhere else."""
        return rows_of(self.other.content, self.lexicon, self.named_bundles) if self.other else []

    def numbers(self, place: int) -> list[int]:
        """The numbers of the other rows than that one."""
        return [number + 1 for number in range(len(self.rows)) if number != place]

    @property
    def counts(self) -> dict[int, int]:
        """Place of a row -> how many patients meet it by itself."""
        return dict(zip(self.order, self.answer.counts, strict=True)) if self.answer else {}

    def share(self, place: int) -> str:
        """How much of all patients meet a row, as the width of a bar from 0 to 100."""
        known = self.answer.patients_known if self.answer else 0
        return f"{100 * self.counts.get(place, 0) / known:.1f}" if known else "0"

    def wrong(self, place: int, part: str = "") -> bool:
        """Whether the error is of this row, and of this field of it."""
        error = self.error
        return isinstance(error, RowError) and error.row == place and (not part or error.part in ("", part))

    @property
    def wrong_name(self) -> bool:
        """Whether the error is of the name to save under."""
        return self.error is not None and self.error.field == "name"

    @property
    def is_asked(self) -> bool:
        """Whether a row asks for something."""
        return any(row.is_asked for row in self.rows)

    @property
    def has_off(self) -> bool:
        """Whether a row is switched off."""
        return any(row.off for row in self.rows)


def in_words(rows: Sequence[CriterionRow]) -> str:
    """A definition in one line."""
    return "; ".join(sentence(row) for row in rows if not row.is_empty) or "no criterion"


def sentence(row: CriterionRow) -> str:
    """A row in words, such as `without present effusion, since 2020-01-01`."""
    stated = row.concept if row.assertion == "present" else f"{ASKS.get(row.assertion, '')} {row.concept}"
    parts = [
        stated if row.concept else "",
        f"the words {row.words}" if row.words else "",
        row.further,
        f"since {row.since}" if row.since else "",
        f"until {row.until}" if row.until else "",
        f"within {row.days} days of row {row.of}" if row.days else "",
    ]
    return f"{GROUPS_IN_WORDS.get(row.group, row.group)} {', '.join(filter(None, parts))}"

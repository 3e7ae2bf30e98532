"""The JSON shapes of the answers about cohorts, over HTTP and on the command line."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from mappings.clinical.cue_rules import Assertion
from search.cohorts.comparison import CohortComparison, PatientList
from search.cohorts.results import CohortEvidence, CohortPage, CohortPatient, Standing
from web.exports.cohort_export import CohortExport
from web.search_answers import Mark
from web.understanding_answers import BUNDLE_FIELD, BundleJson
from web.wire import INVENTED, WireModel


class CohortEvidenceJson(WireModel):
    """A sentence that speaks of a criterion. `start` and `end` are offsets in its passage, `mark` in this `text`."""

    model_config = ConfigDict(title="CohortEvidence")

    document: str
    passage: str
    date: str | None
    type: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    mark: Mark
    concept: str = Field(description="the concept that it mentions; empty for words")
    assertion: Assertion | Literal[""] = Field(description="what it asserts of the concept; empty for words")

    @classmethod
    def of(cls, item: CohortEvidence) -> CohortEvidenceJson:
        """Build from the evidence of a patient."""
        day = item.date.isoformat() if item.date else None
        values = {name: getattr(item, name) for name in cls.model_fields}
        return cls.model_validate(values | {"date": day})


class CriterionStandingJson(WireModel):
    """How a patient stands to a criterion, and the sentences that show it, the newest first."""

    model_config = ConfigDict(title="CriterionStanding")

    standing: Standing = Field(
        description="`met`; otherwise what documents say of the concept: `ruled-out`, `uncertain`, `other` (such as in the "
        "family), or nothing at all: `not-mentioned`"
    )
    evidence: list[CohortEvidenceJson]


class CohortPatientJson(WireModel):
    """A patient of a cohort; `standings` has one for each criterion, in their order."""

    model_config = ConfigDict(title="CohortPatient")

    patient: str
    documents: int = Field(description="how many documents of the patient the caller can see")
    standings: list[CriterionStandingJson]

    @classmethod
    def of(cls, item: CohortPatient) -> CohortPatientJson:
        """Build from a patient of a page."""
        return cls(
            patient=item.patient,
            documents=item.documents,
            standings=[
                CriterionStandingJson(standing=one.standing, evidence=[*map(CohortEvidenceJson.of, one.evidence)])
                for one in item.standings
            ],
        )


class CohortCriterionJson(WireModel):
    """A criterion as it was understood, and how many patients meet it by itself."""

    model_config = ConfigDict(title="CriterionCount")

    group: Literal["all", "any", "none"]
    criterion: str = Field(description="the criterion in words")
    concept: str = Field(description="the id of its concept; empty for none")
    name: str = Field(description="the name of its concept or bundle; empty for none")
    bundle: BundleJson | None = Field(default=None, exclude_if=lambda found: found is None, description=BUNDLE_FIELD)
    assertion: str
    patients: int = Field(description="how many patients meet it, whatever else they do")


class CohortAnswer(WireModel):
    """A page of a cohort's patients in the order of their ids.

    `notes` say what is odd about the definition, `degraded` what failed or is missing.
    """

    collection: str
    criteria: list[CohortCriterionJson]
    total: int = Field(description="how many patients meet the definition")
    patients_known: int = Field(description="how many patients the caller can see in the collection")
    patients: list[CohortPatientJson]
    next: str = Field(description="send it as `after` to get the next page; empty on the last one")
    notes: list[str]
    degraded: list[str]
    index: str
    invented: bool = Field(description=INVENTED)

    @classmethod
    def of(cls, page: CohortPage, export: CohortExport) -> CohortAnswer:
        """Build from a page; `export` names its criteria."""
        return cls(
            collection=export.definition.collection,
            criteria=_criteria(export, page.counts),
            total=page.total,
            patients_known=page.patients_known,
            patients=[CohortPatientJson.of(item) for item in page.patients],
            next=page.next,
            notes=list(page.notes),
            degraded=list(page.degraded),
            index=page.index,
            invented=export.invented,
        )


class PatientListJson(WireModel):
    """Patients of one side of a comparison."""

    model_config = ConfigDict(title="PatientList")

    total: int
    patients: list[str]
    next: str = Field(description="send it as `after` to get the next patients of this list; empty on its last page")

    @classmethod
    def of(cls, item: PatientList) -> PatientListJson:
        """Build from one list of a comparison."""
        return cls(total=item.total, patients=list(item.patients), next=item.next)


class ComparisonAnswer(WireModel):
    """The patients of both cohorts, of the first only, and of the second only."""

    both: PatientListJson
    only_a: PatientListJson
    only_b: PatientListJson
    degraded: list[str]

    @classmethod
    def of(cls, compared: CohortComparison) -> ComparisonAnswer:
        """Build from a comparison."""
        return cls(
            both=PatientListJson.of(compared.both),
            only_a=PatientListJson.of(compared.only_a),
            only_b=PatientListJson.of(compared.only_b),
            degraded=list(compared.degraded),
        )


def _criteria(export: CohortExport, counts: tuple[int, ...]) -> list[CohortCriterionJson]:
    groups: list[Literal["all", "any", "none"]] = ["all", "any", "none"]
    placed = [(group, item) for group in groups for item in getattr(export.definition, group)]
    return [
        CohortCriterionJson(
            group=group,
            criterion=export.named(item),
            concept=item.concept,
            name=item.bundle.name if item.bundle else export.concept(item.concept).name if item.concept else "",
            bundle=BundleJson.model_validate(item.bundle) if item.bundle else None,
            assertion=item.assertion if item.concepts else "",
            patients=count,
        )
        for (group, item), count in zip(placed, counts, strict=True)
    ]

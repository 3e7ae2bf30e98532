"""Validates the cohorts that callers send. The shape is checked here, what it names by `search.cohorts.read`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import Assertion
from mappings.collection import Collection
from search.cohorts.definition import MAX_CRITERIA, CohortDefinition
from search.cohorts.read import MAX_CHARACTERS, BundleSource, read_definition
from search.cohorts.run import MAX_PATIENTS
from search.document_criteria import MAX_DAYS
from web.forms import RangeForm, Scalar

ExportName = Literal["csv", "omop", "fhir"]
MAX_PATIENT_CHARACTERS: Final = 1_000
MAX_KEPT_CHARACTERS: Final = 100

_Words = Annotated[str, Field(max_length=MAX_CHARACTERS)]
_Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class CohortCriterionForm(BaseModel):
    """What one document of a patient must say. At least one of `concept`, `bundle`, `words`, `filters`, `since` and `until`."""

    model_config = ConfigDict(extra="forbid", title="CohortCriterion")

    concept: _Words = Field(
        "",
        description="a concept of the lexicon, by a name or its id; narrower ones count, too; or a bundle: `bundle:NAME`",
        examples=["pneumonia"],
    )
    bundle: _Words = Field(
        "",
        description="instead of `concept`: a kept bundle, by its id, or the caller's own by its name; any of its terms counts",
    )
    assertion: Assertion = Field("present", description="what must be said of the concept")
    words: _Words = Field("", description="words and phrases that the document has")
    typed: _Words = Field("", description="how the criterion is called; by default its concept or words")
    filters: Annotated[dict[str, Scalar | list[Scalar] | RangeForm], Field(max_length=20)] = Field(
        {}, description="field -> value, list of values (any of them), or range"
    )
    since: _Day | None = Field(None, description="the first date of the document", examples=["2020-01-01"])
    until: _Day | None = Field(None, description="its last date")
    within_days: int | None = Field(
        None, ge=0, le=MAX_DAYS, description="most days between this document and one that meets the criterion `of`"
    )
    of: int | None = Field(
        None, ge=0, lt=MAX_CRITERIA, description="the number of a criterion: from 0, in the order all, any, none"
    )


def _named(value: Any) -> Any:
    return {"concept": value} if isinstance(value, str) else value


Criterion = Annotated[CohortCriterionForm, BeforeValidator(_named, json_schema_input_type=CohortCriterionForm | _Words)]
"""A criterion, or the name of a concept that is present."""

Criteria = Annotated[list[Criterion], Field(max_length=MAX_CRITERIA)]


class CohortDefinitionForm(BaseModel):
    """The patients who meet every criterion of `all`, at least one of `any` if there are any, and none of `none`."""

    model_config = ConfigDict(extra="forbid", title="CohortDefinition")

    collection: str = Field("", description="name of the collection; needed unless `kept` has it", examples=["notes"])
    all: Criteria = Field([], description="every one must be met")
    any: Criteria = Field([], description="at least one must be met")
    none: Criteria = Field([], description="none may be met")

    def definition(
        self, collection: Collection, lexicon: ConceptLexicon | None, bundles: BundleSource
    ) -> CohortDefinition:
        """What is asked for. Raises `InvalidInput`, whose field names the criterion: `all.2.concept`."""
        given = self.model_dump(include={"collection", "all", "any", "none"}, exclude_unset=True, exclude_none=True)
        return read_definition(given | {"collection": self.collection}, collection, lexicon, bundles)


class CohortForm(CohortDefinitionForm):
    """A cohort, by its definition or as it is kept."""

    model_config = ConfigDict(extra="forbid", title="Cohort")

    kept: str = Field(
        "", max_length=MAX_KEPT_CHARACTERS, description="the id of a kept cohort, instead of `all`, `any` and `none`"
    )


class CohortPageForm(CohortForm):
    """A cohort, and which page of its patients to show."""

    model_config = ConfigDict(extra="forbid", title="CohortPage")

    after: str = Field("", max_length=MAX_PATIENT_CHARACTERS, description="the `next` of the page before")
    size: int = Field(20, ge=1, le=MAX_PATIENTS, description="patients on a page")


class CohortExportForm(CohortForm):
    """A cohort, and the format to export it in."""

    model_config = ConfigDict(extra="forbid", title="CohortExport")

    format: ExportName = Field(
        description="`csv` (a line for each sentence), `omop` (rows of NOTE_NLP, CDM 5.4) or `fhir` (a bundle, R4)"
    )


class CohortComparisonForm(BaseModel):
    """Two cohorts, and which page of the ids of their patients to show."""

    model_config = ConfigDict(extra="forbid", title="CohortComparison")

    a: CohortForm
    b: CohortForm
    after: str = Field("", max_length=MAX_PATIENT_CHARACTERS, description="the `next` of a list of patients")
    size: int = Field(100, ge=1, le=MAX_PATIENTS, description="patients of each list")

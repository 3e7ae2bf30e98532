"""How a query was interpreted, as JSON."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ConfigDict, Field

from search.pipeline.results import Results
from web.wire import WireModel


class ExpansionJson(WireModel):
    """An abbreviation of the query and its long form."""

    model_config = ConfigDict(title="Expansion")

    short: str
    long: str


class OtherNamesJson(WireModel):
    """What the query calls `typed`, and the other names by which it is searched, too; those of abbreviations as well."""

    model_config = ConfigDict(title="OtherNames")

    typed: str
    names: list[str]


class AskedJson(WireModel):
    """One thing that a short query asks for; `meanings` are those of an abbreviation, the most common first."""

    model_config = ConfigDict(title="Asked")

    typed: str
    meanings: list[str]


class BundleJson(WireModel):
    """A kept bundle of terms; `concepts` are the ids of what they name."""

    model_config = ConfigDict(title="TermBundle")

    id: str
    name: str
    terms: list[str]
    concepts: list[str]


BUNDLE_FIELD: Final = "the bundle of which any term counts; absent where one concept is asked for"


class CriterionJson(WireModel):
    """What documents must assert of a concept; `not-present`: they must not say that it is present."""

    model_config = ConfigDict(title="Criterion")

    typed: str
    concept: str
    name: str
    assertion: str
    source: Literal["with", "without", "text"] = Field(description="where the query asks for it")
    bundle: BundleJson | None = Field(default=None, exclude_if=lambda found: found is None, description=BUNDLE_FIELD)


class UnderstandingJson(WireModel):
    """How the query was interpreted. `feedback` names the passages that shifted its vectors, if there are any.

    `asked` is what a short query asks for: documents that have all of it rank above all others. Documents without the
    `phrases`, or with what is `excluded`, are left out, and so are those that do not meet all `criteria`. Those that meet
    `preferences` rank first, and none is left out.
    """

    model_config = ConfigDict(title="Understanding")

    text: str
    terms: list[str]
    expansions: list[ExpansionJson]
    names: list[OtherNamesJson]
    asked: list[AskedJson]
    phrases: list[str]
    excluded: list[str]
    criteria: list[CriterionJson]
    preferences: list[CriterionJson]
    notes: list[str]
    feedback: list[str] = Field(default=[], exclude_if=lambda passages: not passages)

    @classmethod
    def of(cls, results: Results) -> UnderstandingJson:
        """Build from the results of a query."""
        understanding = results.understood
        return cls(
            text=understanding.model_text,
            terms=[term for term, _ in understanding.lexical.terms],
            expansions=[ExpansionJson.model_validate(item) for item in understanding.expansions],
            names=[OtherNamesJson(typed=item.typed, names=list(item.names)) for item in understanding.names],
            asked=[AskedJson(typed=item.typed, meanings=list(item.meanings)) for item in understanding.asked],
            phrases=list(understanding.phrases),
            excluded=list(understanding.excluded),
            criteria=[CriterionJson.model_validate(item) for item in understanding.criteria],
            preferences=[CriterionJson.model_validate(item) for item in understanding.preferences],
            notes=list(understanding.notes),
            feedback=list(results.feedback),
        )

"""Validates what callers send, as JSON or URL parameters, and builds a `Query` from it.

The shape of a request and its filters are validated here; facets, sort and cursor are validated by the search
(`search.pipeline`), and an invalid one is a 400, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from werkzeug.datastructures import MultiDict

from mappings.collection import Collection
from mappings.documents import Access, clean
from mappings.errors import InvalidInput
from search.query import MAX_PAGE_SIZE, MAX_QUERY_CHARACTERS, Query
from search.understanding import filters
from web.validation import validated

MAX_BATCH: Final = 50
FORMATS: Final = ("json", "ris", "bibtex", "csv")

Slot = Annotated[str, Field(max_length=500)]
Findings = Annotated[list[Slot], Field(max_length=20)]
Scalar = str | int | float


class RangeForm(BaseModel):
    """Bounds of a number or a date (`YYYY-MM-DD`), both inclusive; one of them can be omitted."""

    model_config = ConfigDict(extra="forbid", title="Range")

    gte: Scalar | None = None
    lte: Scalar | None = None


class SearchForm(BaseModel):
    """One search. At least one of `text`, `entity`, `aspect` and `with` is needed."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, title="Search")

    collection: str = Field(description="name of the collection to search", examples=["abstracts"])
    text: str = Field(
        "", max_length=MAX_QUERY_CHARACTERS, description="free text: a question, a headline, a whole article"
    )
    entity: Slot = Field("", description="a disease, drug or procedure", examples=["heart failure"])
    aspect: Slot = Field("", description="what to find out about the entity", examples=["treatment"])
    having: Findings = Field(
        [],
        alias="with",
        description="what documents must say is present; `ruled-out:X`: say it of X; `bundle:NAME`: any term of a kept bundle, "
        "the caller's own by its name, another one by its id",
        examples=[["pneumonia"]],
    )
    lacking: Findings = Field(
        [], alias="without", description="what documents must not say is present", examples=[["effusion"]]
    )
    absence: Literal["not-present", "ruled-out"] = Field(
        "not-present",
        description="what `without` means: `not-present` (documents do not say that it is present; those that rule it out "
        "rank first) or `ruled-out` (they say that it is absent)",
    )
    plain: bool = Field(
        False, description="search the text as words only, also if it says of something that it is absent"
    )
    as_typed: Findings = Field(
        [],
        description="names in the text that are searched as they are: by no other name, and not as an abbreviation",
        examples=[["heart attack"]],
    )
    filters: Annotated[dict[str, Scalar | list[Scalar] | RangeForm], Field(max_length=20)] = Field(
        {},
        description="field -> value, list of values (any of them), or range",
        examples=[{"year": {"gte": 2015, "lte": 2020}, "source": ["x", "y"]}],
    )
    facets: Annotated[list[str], Field(max_length=20)] | None = Field(
        None, description="fields whose values are counted; by default those of the collection"
    )
    size: int = Field(10, ge=1, le=MAX_PAGE_SIZE, description="hits on a page")
    cursor: str | None = Field(None, max_length=20_000, description="the `cursor` of the previous page")
    sort: str = Field("relevance", description="`relevance`, or a number or date field; with `-` before it, descending")
    explain: bool = Field(False, description="explain the score of each hit")
    rerank: bool = Field(True, description="rerank the candidates; false keeps the fused order")
    deadline_ms: int | None = Field(
        None,
        ge=0,
        le=60_000,
        description="time for reranking in milliseconds; 0: as long as the server allows, for the full ranking; "
        "by default that of the collection; a server can allow less",
    )
    stances: bool = Field(
        True,
        description="read what each hit says of the text, where the collection has a model for that; false is faster",
    )


class BatchForm(BaseModel):
    """Several searches, answered in order: all of them, or an error that names the invalid one."""

    model_config = ConfigDict(extra="forbid", title="Batch")

    searches: Annotated[list[SearchForm], Field(min_length=1, max_length=MAX_BATCH)]


class DocumentForm(BaseModel):
    """The parameters for reading a document: its collection and the format of the answer."""

    model_config = ConfigDict(extra="forbid", title="DocumentParameters")

    collection: str
    format: Literal["json", "ris", "bibtex", "csv"] = "json"


class StanceForm(BaseModel):
    """A claim, and the document that is read for what it says of it."""

    model_config = ConfigDict(extra="forbid", title="StanceQuestion")

    collection: str
    document: str = Field(max_length=1_000, description="its id")
    text: str = Field(max_length=MAX_QUERY_CHARACTERS, description="the claim, as one sentence")


class FeedForm(BaseModel):
    """The collection that documents are added to."""

    model_config = ConfigDict(extra="forbid", title="FeedParameters")

    collection: str


class DeletionForm(BaseModel):
    """The parameters for deleting a document: its collection and the source version of the deletion."""

    model_config = ConfigDict(extra="forbid", title="DeletionParameters")

    collection: str
    source_version: str | None = Field(
        None,
        max_length=64,
        description="a whole number, or a timestamp with a time zone; a document with a newer one is not deleted",
    )


_REPEATED: Final = "as_typed"
"""A list whose values can contain commas, so that it is repeated instead."""
_LISTS: Final = {"with": "having", "without": "lacking", "facets": "facets"}
PARAMETERS: Final = tuple(field.alias or name for name, field in SearchForm.model_fields.items() if name != "filters")


def search_form(value: Any) -> SearchForm:
    """Validate one search given as a JSON value. Raises `InvalidInput`."""
    return validated(SearchForm, value)


def batch_form(value: Any) -> BatchForm:
    """Validate several searches given as a JSON value. Raises `InvalidInput`."""
    return validated(BatchForm, value)


def stance_form(value: Any) -> StanceForm:
    """Validate a claim and a document given as a JSON value. Raises `InvalidInput`."""
    return validated(StanceForm, value)


def search_form_of(parameters: MultiDict[str, str]) -> SearchForm:
    """Validate a search given as URL parameters: `filter.year=2015..2020`, `filter.source=x`, comma-separated lists.

    Raises `InvalidInput`, also for an unknown parameter and for a repeated one that takes a single value.
    """
    value: dict[str, Any] = {}
    chosen: dict[str, list[str]] = {}
    for name, texts in parameters.lists():
        given = [clean(text) for text in texts]
        if name.startswith("filter."):
            chosen[name.removeprefix("filter.")] = given
        elif name in _LISTS:
            value[name] = [part.strip() for text in given for part in text.split(",") if part.strip()]
        elif name == _REPEATED:
            value[name] = [text for text in given if text.strip()]
        elif name in PARAMETERS:
            value[name] = _single(name, given)
        else:
            raise InvalidInput(
                f"there is no parameter {name[:80]!r}; known are {', '.join((*PARAMETERS, 'filter.<field>'))}",
                field=name,
            )
    if chosen:
        value["filters"] = chosen
    return validated(SearchForm, value, strict=False)


def document_form(parameters: MultiDict[str, str]) -> DocumentForm:
    """Validate the parameters for reading a document. Raises `InvalidInput`."""
    value = single_values(parameters)
    check_format(value.get("format", "json"))
    return validated(DocumentForm, value)


def feed_form(parameters: MultiDict[str, str]) -> FeedForm:
    """Validate the parameters for posting documents. Raises `InvalidInput`."""
    return validated(FeedForm, single_values(parameters))


def deletion_form(parameters: MultiDict[str, str]) -> DeletionForm:
    """Validate the parameters for deleting a document. Raises `InvalidInput`."""
    return validated(DeletionForm, single_values(parameters))


def check_format(name: str) -> str:
    """Return `name` if it is a known format of answers. Raises `InvalidInput` with the known ones."""
    if name not in FORMATS:
        raise InvalidInput(f"there is no format {name[:80]!r}; known are {', '.join(FORMATS)}", field="format")
    return name


def single_values(parameters: MultiDict[str, str]) -> dict[str, str]:
    """Parameters of which each is given once. Raises `InvalidInput`."""
    return {name: _single(name, texts) for name, texts in parameters.lists()}


def _single(name: str, texts: Sequence[str]) -> str:
    if len(texts) != 1:
        raise InvalidInput(f"{name} is given {len(texts)} times; give it once", field=name)
    return texts[0]


def to_query(form: SearchForm, collection: Collection, access: Access) -> Query:
    """Build the query of `form` over `collection`. Raises `InvalidInput` for a filter that does not fit its field.

    The search itself checks facets, sort and cursor (`search.pipeline`).
    """
    return Query(
        collection=collection.name,
        access=access,
        text=form.text,
        entity=form.entity,
        aspect=form.aspect,
        having=tuple(form.having),
        lacking=tuple(form.lacking),
        absence=form.absence,
        plain=form.plain,
        as_typed=tuple(form.as_typed),
        filters=filters.parse(form.filters, collection),
        facets=collection.facets if form.facets is None else tuple(dict.fromkeys(form.facets)),
        size=form.size,
        cursor=form.cursor,
        sort=form.sort,
        explain=form.explain,
        rerank=form.rerank,
        deadline_ms=form.deadline_ms,
        stances=form.stances,
    )

"""The JSON forms of answers, over HTTP and on the command line: each form is a model, which gives its schema, too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from mappings.collection import Collection
from mappings.errors import MedleyError
from search.storage import StoredDocument


class WireModel(BaseModel):
    """A JSON form; it is read from the attributes of a value of the domain."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _plain(value: Any) -> Any:
    """A field's value as JSON: a date as `YYYY-MM-DD`, several keywords as a list, a whole number without a point."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value


Value = Annotated[
    str | int | float | list[str],
    BeforeValidator(_plain),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}, {"items": {"type": "string"}, "type": "array"}]}),
]


class SectionJson(WireModel):
    """A section of a document; its heading can be empty."""

    model_config = ConfigDict(title="Section")

    heading: str
    text: str


class DocumentAnswer(WireModel):
    """The newest version of a document."""

    document: str
    collection: str
    version: int
    title: str
    sections: list[SectionJson]
    fields: dict[str, Value]

    @classmethod
    def of(cls, collection: str, stored: StoredDocument) -> DocumentAnswer:
        """The JSON form of a stored document that is not a tombstone. Its labels are left out."""
        if stored.document is None:
            raise ValueError("a tombstone has no document to show")
        return cls(
            document=stored.id,
            collection=collection,
            version=stored.version,
            title=stored.document.title,
            sections=[SectionJson.model_validate(section) for section in stored.document.sections],
            fields={name: _plain(value) for name, value in stored.document.fields.items()},
        )


class FieldJson(WireModel):
    """A field that filters can name; with `facet`, its values can be counted."""

    model_config = ConfigDict(title="Field")

    name: str
    title: str
    type: Literal["keyword", "number", "date"]
    facet: bool


class CollectionJson(WireModel):
    """A collection and its fields and orders."""

    model_config = ConfigDict(title="Collection")

    name: str
    title: str
    kind: str
    group_by: str
    fields: list[FieldJson]
    sorts: list[str]

    @classmethod
    def of(cls, collection: Collection, sorts: Sequence[str]) -> CollectionJson:
        """The JSON form of a collection whose hits can be shown in the orders `sorts`."""
        return cls(
            name=collection.name,
            title=collection.title,
            kind=collection.kind,
            group_by=collection.group_by,
            fields=[FieldJson.model_validate(field) for field in collection.fields.values()],
            sorts=list(sorts),
        )


class CollectionsAnswer(WireModel):
    """Every collection."""

    collections: list[CollectionJson]


class ErrorBody(WireModel):
    """What is wrong: a stable code, one clear message and, where there is one, the field at fault."""

    model_config = ConfigDict(title="ErrorDetail")

    code: str
    message: str
    field: str | None


class ErrorAnswer(WireModel):
    """The one form of every error."""

    model_config = ConfigDict(title="Error")

    error: ErrorBody

    @classmethod
    def of(cls, error: MedleyError) -> ErrorAnswer:
        """The JSON form of an error."""
        return cls(error=ErrorBody.model_validate(error))

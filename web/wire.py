"""The JSON shapes of answers, over HTTP and on the command line.

Each is a pydantic model, from which its JSON schema is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from pydantic import Field as PydanticField

from mappings.collection import Collection
from mappings.errors import MedleyError
from search.storage import StoredDocument

INVENTED: Final = "the documents of the collection are made up, as those of the demo: never cite them as evidence"


class WireModel(BaseModel):
    """A JSON shape, built from the attributes of a domain object."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _to_json(value: Any) -> Any:
    """A field's value as JSON: a date as `YYYY-MM-DD`, keywords as a list, a whole number without a decimal point."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value


FieldValueJson = Annotated[
    str | int | float | list[str],
    BeforeValidator(_to_json),
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
    fields: dict[str, FieldValueJson]
    invented: bool = PydanticField(description=INVENTED)

    @classmethod
    def of(cls, collection: Collection, stored: StoredDocument) -> DocumentAnswer:
        """Build from a stored document that is not a tombstone. Its labels are omitted."""
        if stored.document is None:
            raise ValueError("a tombstone has no document to show")
        return cls(
            document=stored.id,
            collection=collection.name,
            invented=collection.invented,
            version=stored.version,
            title=stored.document.title,
            sections=[SectionJson.model_validate(section) for section in stored.document.sections],
            # Validation converts the values, too; converted here, they have the types that the constructor declares.
            fields={name: _to_json(value) for name, value in stored.document.fields.items()},
        )


class FieldJson(WireModel):
    """A field that filters can name; with `facet`, its values can be counted."""

    model_config = ConfigDict(title="Field")

    name: str
    title: str
    type: Literal["keyword", "number", "date"]
    facet: bool


class CollectionJson(WireModel):
    """A collection with its fields and the sort orders it offers."""

    model_config = ConfigDict(title="Collection")

    name: str
    title: str
    kind: str
    group_by: str
    invented: bool = PydanticField(description=INVENTED)
    fields: list[FieldJson]
    sorts: list[str]

    @classmethod
    def of(cls, collection: Collection, sorts: Sequence[str]) -> CollectionJson:
        """Build from a collection; `sorts` are the sort orders it offers."""
        return cls(
            name=collection.name,
            title=collection.title,
            kind=collection.kind,
            group_by=collection.group_by,
            invented=collection.invented,
            fields=[FieldJson.model_validate(field) for field in collection.fields.values()],
            sorts=list(sorts),
        )


class CollectionsAnswer(WireModel):
    """The collections that the caller can see."""

    collections: list[CollectionJson]


class ErrorDetail(WireModel):
    """What is wrong: a stable code, one clear message and the invalid field, if there is one."""

    code: str
    message: str
    field: str | None


class ErrorAnswer(WireModel):
    """Every error has this shape."""

    model_config = ConfigDict(title="Error")

    error: ErrorDetail

    @classmethod
    def of(cls, error: MedleyError) -> ErrorAnswer:
        """Build from an error."""
        return cls(error=ErrorDetail.model_validate(error))

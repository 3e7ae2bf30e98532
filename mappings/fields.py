"""The fields of documents by which queries filter and count: those that a kind declares, and those that reading gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from mappings import checks

FieldType = Literal["keyword", "number", "date"]
ASSERTED: Final = "asserted"
"""The index's field of what a document asserts, of wider concepts too: keys `concept|assertion`, to filter by."""

MENTIONED: Final = "mentioned"
"""The index's field of what a document asserts, of the concepts that it mentions alone: the same keys, to count."""

CONCEPTS: Final = "concepts"
"""The index's field of the concepts that a document asserts anything of, by their ids, wider ones too, to count."""

ASPECTS: Final = "aspects"
"""The index's field of what the sections of a document are about, in the vocabulary of headings, to count."""

READ_FIELDS: Final[Mapping[str, FieldType]] = {ASSERTED: "keyword", MENTIONED: "keyword", CONCEPTS: "keyword"}
"""The fields that an index has because its documents were read."""

_RECORD_KEYS: Final = ("id", "title", "text", "sections", "labels", "mentions", "source_version", "deleted")
RESERVED: Final = frozenset([*_RECORD_KEYS, *READ_FIELDS, ASPECTS])
"""Keys of a record and fields of every index, which a field can't have as its name."""

_FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a kind's documents, by which a query can filter.

    `name` is its key in filters and records, `title` what people read. If `facet` is true, the search page counts its
    values. Without `in_hits` its values are shown on the document's page only. If `identifies` is true, a query that is
    one of its values finds the documents that have it.
    """

    name: str
    type: FieldType
    title: str
    facet: bool = False
    in_hits: bool = True
    identifies: bool = False

    def __post_init__(self) -> None:
        if not _FIELD_NAME.fullmatch(self.name) or self.name in RESERVED:
            raise ValueError(
                f"fields.{self.name}: a name must start with a lowercase letter, contain only lowercase letters, digits and _ "
                f"(64 at most) and not be one of {', '.join(sorted(RESERVED))}"
            )
        checks.check_one_of(f"fields.{self.name}.type", self.type, get_args(FieldType))
        checks.check_text(f"fields.{self.name}.title", self.title)
        for name in ("facet", "in_hits", "identifies"):
            checks.check_flag(f"fields.{self.name}.{name}", getattr(self, name))

"""The description of an index, the schema of its word index, and the entries of one document version there.

Each passage is one entry; `slot` is the first of the `rows` slots that hold its vectors. BM25 scores `content` (title,
heading, body), and the title by itself, for which the first sentence stands in where there is none. The first passage of
a document also has the terms of the others in `rest`, unscored: a document is counted once, by its first passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import orjson
import tantivy

from encoders.tokens.format import TokenFormat
from mappings.analysis.headings import normalise_heading
from mappings.analysis.words import spaced_terms
from mappings.documents import EVERY_LABEL, FieldValue, Passage
from mappings.errors import Conflict, NotFound
from mappings.fields import FieldType
from search.engines.codec import encode_fields
from search.engines.embedded.integrity.files import damaged
from search.engines.embedded.layout import write_atomic
from search.engines.titles import title_or_lead
from search.engines.values import indexable
from search.protocols import IndexEntry
from search.query import ASPECT, PROVES

FORMAT: Final = 3
"""The version of the file format (`form` in `index.json`); any other is rejected."""

_ANALYZER: Final = "gaps"
_GAP: Final = "\x01"
_EMPTY: Final = "\x02"
# The only word of an empty title or heading, so that both engines count it in the statistics of the field.
_BETWEEN: Final = f" {' '.join([_GAP] * 8)} "
# Longer than any gap of stop words inside a phrase, so that no phrase spans a title and a body.


@dataclass(frozen=True, slots=True)
class EmbeddedIndexDescription:
    """The constant properties of an index: `index.json`. `encoders`: vector field -> (fingerprint, dimension)."""

    index: str
    collection: str
    generation: int
    encoders: Mapping[str, tuple[str, int]]
    analysis: str
    fields: Mapping[str, FieldType]
    windows: int = 0
    reading: str = ""
    tokens: TokenFormat | None = None

    @property
    def dimensions(self) -> dict[str, int]:
        """Vector field -> dimension."""
        return {name: dimension for name, (_, dimension) in self.encoders.items()}

    def save(self, folder: Path) -> None:
        """Write `index.json`."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.tokens is None:
            del content["tokens"]  # so that an earlier program can read an index without
        write_atomic(folder / "index.json", orjson.dumps({"form": FORMAT, **content}, option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, folder: Path) -> EmbeddedIndexDescription:
        """Read `index.json`. Raises `NotFound` where it does not exist, `Conflict` for another format."""
        try:
            content = orjson.loads((folder / "index.json").read_bytes())
        except FileNotFoundError:
            raise NotFound(f"there is no index {folder.name!r}", field="index") from None
        except ValueError as error:
            raise damaged(folder.name, "index.json can't be read") from error
        if not isinstance(content, dict):
            raise damaged(folder.name, "index.json can't be read")
        if (found := content.pop("form", None)) != FORMAT:
            raise Conflict(
                f"index {folder.name} has format {found}, this program reads {FORMAT}: rebuild it", field="index"
            )
        try:
            encoders = {
                name: (fingerprint, dimension) for name, (fingerprint, dimension) in content.pop("encoders").items()
            }
            if (tokens := content.pop("tokens", None)) is not None:
                content["tokens"] = TokenFormat(**tokens)
            return cls(encoders=encoders, **content)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise damaged(folder.name, "index.json can't be read") from error


def column(name: str) -> str:
    """The word index's name of a document field, prefixed to differ from our own fields."""
    return f"f_{name}"


def schema(fields: Mapping[str, FieldType]) -> Any:
    """The schema of the word index."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("content", tokenizer_name=_ANALYZER, index_option="position")
    builder.add_text_field("rest", tokenizer_name=_ANALYZER, index_option="position")
    for name in ("title", "heading"):
        builder.add_text_field(name, tokenizer_name=_ANALYZER, index_option="freq")
    for name in ("passage", "document", "labels", PROVES, ASPECT):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("slot", fast=True)
    builder.add_unsigned_field("rows", fast=True)
    builder.add_unsigned_field("ordinal", indexed=True, fast=True)
    builder.add_bytes_field("shown", stored=True)
    for name, kind in fields.items():
        _add_field(builder, column(name), kind)
    return builder.build()


def _add_field(builder: Any, name: str, kind: FieldType) -> None:
    if kind == "keyword":
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    elif kind == "number":
        builder.add_float_field(name, indexed=True, fast=True)
    else:
        # Dates are day numbers: tantivy's own end in 1677 and 2262.
        builder.add_integer_field(name, indexed=True, fast=True)


def open_index(folder: Path, create: Mapping[str, FieldType] | None = None) -> Any:
    """The word index in `folder`, created with these fields if `create` is given."""
    path = str(folder / "words")
    index = tantivy.Index.open(path) if create is None else tantivy.Index(schema(create), path=path)
    # The terms come from our own analysis; this analyzer only splits them again, and keeps the gaps.
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(
        tantivy.Filter.custom_stopword([_GAP])
    )
    index.register_tokenizer(_ANALYZER, analyzer.build())
    index.config_reader("manual")
    return index


def deleted_passages(folder: Path) -> int:
    """How many replaced and removed passages the word index in `folder` still holds in its segments."""
    segments = orjson.loads((folder / "words" / "meta.json").read_bytes())["segments"]
    return sum(int((segment.get("deletes") or {}).get("num_deleted_docs", 0)) for segment in segments)


def spread(text: str) -> str:
    """The terms of `text`, separated by spaces, with a mark for each stop word."""
    terms = spaced_terms(text)
    while terms and not terms[-1]:
        terms.pop()
    return " ".join([term or _GAP for term in terms])


def records(entry: IndexEntry, fields: Mapping[str, FieldType], first_slot: int) -> Iterator[dict[str, Any]]:
    """One word-index record for each passage of `entry`. Raises `InvalidInput` for an invalid field value."""
    shared = {"document": entry.document, "labels": sorted(entry.labels | {EVERY_LABEL}) if entry.labels else []}
    values = entry.indexed_fields
    shared |= {column(name): indexed(name, kind, values[name]) for name, kind in fields.items() if name in values}
    spreads = [(spread(item.title), spread(item.heading), _body(item)) for item in entry.passages]
    slot = first_slot
    for number, (passage, (title, heading, body)) in enumerate(zip(entry.passages, spreads, strict=True)):
        yield shared | {
            "content": _BETWEEN.join((title, heading, body)),
            "title": _counted(title if _has_words(title) else spread(title_or_lead(passage))),
            "heading": _counted(heading),
            "rest": _BETWEEN.join(_others(spreads)) if number == 0 else "",
            "passage": passage.id,
            PROVES: list(entry.proven(number)),
            ASPECT: normalise_heading(passage.heading),
            "ordinal": number,
            "slot": slot,
            "rows": entry.rows[number],
            "shown": _shown(passage, entry.fields if number == 0 else {}),
        }
        slot += entry.rows[number]


def _counted(spread_text: str) -> str:
    return spread_text if _has_words(spread_text) else _EMPTY


def _has_words(spread_text: str) -> bool:
    return bool(spread_text.strip(f"{_GAP} "))


def _body(passage: Passage) -> str:
    return _BETWEEN.join(spread(text) for text in (passage.text, passage.also) if text)


def _others(spreads: list[tuple[str, str, str]]) -> Iterator[str]:
    """The texts of the second and later passages, without titles equal to the first passage's."""
    for title, heading, body in spreads[1:]:
        yield from (heading, body) if title == spreads[0][0] else (title, heading, body)


def _shown(passage: Passage, fields: Mapping[str, FieldValue]) -> bytes:
    texts = (passage.title, passage.heading, passage.text, passage.context)
    return orjson.dumps([*texts, encode_fields(fields), [list(item) for item in passage.mentions]])


def indexed(name: str, kind: FieldType, value: FieldValue) -> list[Any]:
    """A field's value as the word index holds it. Raises `InvalidInput` for one of another type."""
    return [item.toordinal() if isinstance(item, date) else item for item in indexable(name, kind, value)]

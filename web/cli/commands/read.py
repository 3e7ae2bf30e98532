"""`medley read`: what a text mentions, and what it asserts of each mention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mappings.errors import InvalidInput
from web.cli.common import json_option, show
from web.cli.standard_input import DASH, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mappings.clinical.concepts import ConceptLexicon
    from mappings.clinical.reading import ConceptMention
    from mappings.documents import Section

MAX_BYTES: Final = 20_000_000


@click.command()
@click.argument("path", metavar="FILE|-")
@click.option(
    "--concepts",
    "own",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="A file of further concepts; can be repeated.",
)
@json_option
def read(path: str, own: tuple[Path, ...], as_json: bool) -> None:
    """Show the concepts that a note or report mentions, and what it asserts of each."""
    from mappings.analysis.sections import split_note
    from mappings.clinical.concepts import load_concepts, shipped_concepts
    from mappings.clinical.reading import READING_VERSION, ConceptReader

    sections = split_note(read_text() if path == DASH else _text(Path(path)))
    lexicon = load_concepts(*own) if own else shipped_concepts()
    mentions = ConceptReader(lexicon).read(sections).mentions
    found = [_described(mention, sections, lexicon) for mention in mentions]
    show({"version": READING_VERSION, "mentions": found}, as_json, lambda: _table(found))


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="path") from error
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"{path} has more than {MAX_BYTES:,} bytes", field="path")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not valid UTF-8 (byte {error.start + 1})", field="path") from error


def _described(mention: ConceptMention, sections: Sequence[Section], lexicon: ConceptLexicon) -> dict[str, Any]:
    section, concept = sections[mention.section], lexicon.get(mention.concept)
    return {
        "concept": concept.id,
        "name": concept.name,
        "group": concept.group,
        "assertion": mention.assertion,
        "mention": section.text[mention.start : mention.end],
        "heading": section.heading,
        "section": mention.section,
        "start": mention.start,
        "end": mention.end,
        "sentence": section.text[mention.sentence_start : mention.sentence_end],
    }


def _table(found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return "no concept of the lexicon is mentioned"
    wide = max(len(item["name"]) for item in found)
    return "\n".join(
        f"{item['assertion']:12}  {item['name']:{wide}}  {' '.join(item['sentence'].split())}" for item in found
    )

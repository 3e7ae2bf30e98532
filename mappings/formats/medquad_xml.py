"""Health articles as MedQuAD distributes them: one XML file an article, with its questions and answers.

The document is the one that the format `medquad` makes of the same article: `source_id` is its id, the focus its title,
and answer n is section n - 1. The questions never become part of it, since evaluation uses them as queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from mappings.collection import Collection
from mappings.documents import Document, clean
from mappings.errors import InvalidInput
from mappings.formats import medquad
from mappings.formats.fields import keywords
from mappings.formats.xml_elements import Shape, plain, texts, xml_records

SHAPE: Final[Shape] = {"Document": ()}
_NUMBER: Final = re.compile(r"\d{1,6}")


def parse(element: etree._Element, collection: Collection) -> Document:
    """One article. Raises `InvalidInput`, also without any answer: some publishers do not allow redistribution of theirs."""
    identifier, source = (clean(element.get(name, "")).strip() for name in ("id", "source"))
    if not identifier:
        raise InvalidInput("id is missing: Document needs it as an attribute", field="id")
    whole = f"{source}_{identifier}" if source else identifier
    passages = list(_passages(element, whole))
    if not passages:
        raise InvalidInput("QAPairs contains no answer", field="QAPairs")
    record = {
        "id": whole,
        "title": plain(element.find("Focus")),
        "source": source,
        "url": clean(element.get("url", "")),
        "passages": passages,
        "synonyms": keywords(texts(element, ".//Synonym")),
        "cui": keywords(texts(element, ".//CUI")),
        "semantic_type": keywords(texts(element, ".//SemanticType")),
        "semantic_group": keywords(texts(element, ".//SemanticGroup")),
    }
    return medquad.parse(record, collection)


def _passages(element: etree._Element, identifier: str) -> Iterator[dict[str, str]]:
    for place, pair in enumerate(element.iterfind("QAPairs/QAPair"), start=1):
        number = pair.get("pid", "")
        if answer := plain(pair.find("Answer")):
            yield {"id": f"{identifier}-{number if _NUMBER.fullmatch(number) else place}", "text": answer}


read = xml_records(SHAPE, parse)

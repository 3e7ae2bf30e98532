"""Radiology reports as Open-i distributes them (Indiana University): one XML file each, with the root eCitation."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from mappings.collection import Collection
from mappings.documents import Document, Section, clean
from mappings.errors import InvalidInput
from mappings.formats.fields import dropped_of, fields_of, keywords
from mappings.formats.moments import first_day
from mappings.formats.xml_elements import Shape, plain, texts, xml_records

SHAPE: Final[Shape] = {"eCitation": ()}


def parse(element: etree._Element, collection: Collection) -> Document:
    """One report; its title is the caption of an image, since its own title is that of the whole collection."""
    sections = tuple(
        Section(clean(part.get("Label", "")).strip(), plain(part))
        for part in element.iterfind(".//Abstract/AbstractText")
    )
    written = tuple(section for section in sections if section.text)
    if not written:
        raise InvalidInput("the report has no text: every AbstractText is empty", field="AbstractText")
    values = _values(element)
    return Document(
        id=_id(element),
        title=values["type"],
        sections=written,
        labels=collection.default_labels,
        fields=fields_of(values, collection),
        dropped=dropped_of(values, collection),
    )


def _id(element: etree._Element) -> str:
    found = element.find("uId")
    identifier = "" if found is None else found.get("id", "").strip()
    if not identifier:
        raise InvalidInput("uId is missing: its attribute id must be the id of the document", field="uId")
    return str(identifier)


def _values(element: etree._Element) -> dict[str, Any]:
    """The values of the fields that a kind can declare, by name."""
    images = element.findall(".//parentImage")
    captions = [text for image in images for text in texts(image, "caption")]
    values = {
        "type": (captions + texts(element, "articleType") + [""])[0],
        "specialty": keywords(texts(element, "specialty")),
        "source": plain(element.find("docSource")),
        "mesh": keywords(texts(element, ".//MeSH/major") + texts(element, ".//MeSH/automatic")),
        "mesh_major": keywords(texts(element, ".//MeSH/major")),
        "mesh_automatic": keywords(texts(element, ".//MeSH/automatic")),
        "images": keywords(clean(image.get("id", "")) for image in images),
    }
    day = plain(element.find("articleDate"))
    return values | ({"date": first_day(day, "articleDate")} if day else {})


read = xml_records(SHAPE, parse)

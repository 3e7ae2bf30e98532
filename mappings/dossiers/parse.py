"""Reads the content of a dossier from JSON, and refuses what is not one with the field at fault."""

from __future__ import annotations

import math
import re
from typing import Final
from urllib.parse import urlsplit

from mappings.documents import clean
from mappings.dossiers.dossier import (
    MOST_CLAIM_CHARACTERS,
    MOST_CLAIMS,
    MOST_EVIDENCE,
    MOST_HISTORY,
    MOST_MARKS,
    MOST_NOTES_CHARACTERS,
    MOST_QUOTE_CHARACTERS,
    MOST_SOURCE_CHARACTERS,
    MOST_TITLE_CHARACTERS,
    VERDICTS,
    ChosenEvidence,
    CitedStudy,
    Dossier,
    DossierChange,
    DossierClaim,
    Stamp,
    Verdict,
)
from mappings.errors import InvalidInput
from mappings.given import GivenObject, short_text
from mappings.stances import as_stance

MOST_AUTHORS: Final = 50
MOST_CITED_CHARACTERS: Final = 500
MOST_CHANGE_CHARACTERS: Final = 500
_MOST_LABELS: Final = 1_000
_MOST_ID_CHARACTERS: Final = 600
_MARK: Final = re.compile(r"\d{1,9}-\d{1,9}", re.ASCII)
_EVIDENCE: Final = (
    *("number", "collection", "document", "passage", "title", "quote", "marks", "labels", "stance", "probability"),
    *("note", "added", "invented", "citation", "withheld"),
)
_CITED: Final = ("journal", "year", "volume", "issue", "pages", "doi", "pmid")


def parse_dossier(content: object, where: str = "content") -> Dossier:
    """A dossier from its JSON. Raises `InvalidInput`, with the field, such as `content.claims.0.verdict`."""
    given = GivenObject.of(content, where, ("claims", "history"))
    claims = given.items("claims", MOST_CLAIMS, _claim)
    given.check_numbers("claims", [item.number for item in claims])
    return Dossier(claims, given.items("history", MOST_HISTORY, _change))


def check_claim(text: str, where: str = "claim") -> str:
    """The text of a claim on one line. Raises `InvalidInput` for one that is empty or too long."""
    line = " ".join(clean(text).split())
    if not line:
        raise InvalidInput("a claim needs a text", field=where)
    return short_text(line, MOST_CLAIM_CHARACTERS, where, "a claim")


def check_notes(text: str, where: str = "notes") -> str:
    """Notes with the line breaks of one kind. Raises `InvalidInput` for notes that are too long."""
    lines = clean(text).replace("\r\n", "\n").replace("\r", "\n").strip()
    return short_text(lines, MOST_NOTES_CHARACTERS, where, "a note")


def check_verdict(text: object, where: str = "verdict") -> Verdict:
    """`text` as a verdict. Raises `InvalidInput`."""
    found = next((name for name in VERDICTS if name == text), None)
    if found is None:
        raise InvalidInput(f"{text!r:.80} is not a verdict; known are {', '.join(VERDICTS)}", field=where)
    return found


def check_source(text: str, where: str = "source") -> str:
    """The address where a claim appeared; "" for none. Raises `InvalidInput` for one that is not of the web."""
    address = short_text(text.strip(), MOST_SOURCE_CHARACTERS, where, "an address")
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or " " in address:
        raise InvalidInput("where a claim appeared is an address that begins with https:// or http://", field=where)
    return address


def check_probability(value: object, where: str = "probability") -> float:
    """`value` as a probability. Raises `InvalidInput`."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not usable or not 0 <= value <= 1:  # type: ignore[operator]  # it is a number if it is usable
        raise InvalidInput("a probability is a number from 0 to 1", field=where)
    return float(value)  # type: ignore[arg-type]


def _claim(value: object, where: str) -> DossierClaim:
    given = GivenObject.of(value, where, ("number", "text", "verdict", "notes", "source", "evidence"))
    evidence = given.items("evidence", MOST_EVIDENCE, _evidence)
    given.check_numbers("evidence", [item.number for item in evidence])
    return DossierClaim(
        number=given.number(),
        text=check_claim(given.text("text", MOST_CLAIM_CHARACTERS), f"{where}.text"),
        verdict=check_verdict(given.values.get("verdict", "unrated"), f"{where}.verdict"),
        notes=given.text("notes", MOST_NOTES_CHARACTERS),
        source=check_source(given.text("source", MOST_SOURCE_CHARACTERS), f"{where}.source"),
        evidence=evidence,
    )


def _evidence(value: object, where: str) -> ChosenEvidence:
    given = GivenObject.of(value, where, _EVIDENCE)
    if given.flag("withheld"):
        return ChosenEvidence(given.number(), withheld=True)
    stance, probability = given.values.get("stance"), given.values.get("probability")
    return ChosenEvidence(
        number=given.number(),
        collection=given.needed("collection", _MOST_ID_CHARACTERS),
        document=given.needed("document", _MOST_ID_CHARACTERS),
        passage=given.text("passage", _MOST_ID_CHARACTERS),
        title=given.text("title", MOST_TITLE_CHARACTERS),
        quote=given.needed("quote", MOST_QUOTE_CHARACTERS),
        marks=given.items("marks", MOST_MARKS, _mark),
        labels=frozenset(given.texts("labels", _MOST_LABELS)),
        stance=None if stance is None else as_stance(stance, f"{where}.stance"),
        probability=None if probability is None else check_probability(probability, f"{where}.probability"),
        note=given.text("note", MOST_NOTES_CHARACTERS),
        added=given.moment("added"),
        invented=given.flag("invented"),
        study=_study(given.values.get("citation", {}), f"{where}.citation"),
    )


def _mark(value: object, where: str) -> str:
    if not isinstance(value, str) or not _MARK.fullmatch(value):
        raise InvalidInput("a mark is the place of a sentence in its passage, such as 12-80", field=where)
    return value


def _study(value: object, where: str) -> CitedStudy:
    given = GivenObject.of(value, where, ("authors", *_CITED))
    return CitedStudy(
        tuple(given.texts("authors", MOST_AUTHORS)), *(given.text(name, MOST_CITED_CHARACTERS) for name in _CITED)
    )


def _change(value: object, where: str) -> DossierChange:
    given = GivenObject.of(value, where, ("at", "by", "what"))
    stamp = Stamp(given.moment("at"), given.text("by", MOST_CITED_CHARACTERS))
    return DossierChange(stamp, given.needed("what", MOST_CHANGE_CHARACTERS))

"""Citations as BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from web.citations.citation import INVENTED, Citation

_TEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)
_VERBATIM: Final = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
_PERSON_PARTS: Final = (2, 3)
_BIBTEX_WORDS: Final = ("and", "others")


def as_bibtex(citations: Sequence[Citation]) -> str:
    """BibTeX in UTF-8. Keys are made from the ids, with a number where two ids give the same key."""
    taken: set[str] = set()
    return "\n".join(_bibtex(item, _key(item, taken)) for item in citations)


def _bibtex(item: Citation, key: str) -> str:
    values = {
        # Two pairs of braces around the title: styles that lower-case titles would spoil its abbreviations.
        "title": f"{{{_tex(item.title)}}}" if item.title else "",
        "author": " and ".join(_name(name) for author in item.authors if (name := author.strip(" ,"))),
        "journal": _tex(item.text("journal") or item.text("journal_abbreviation")),
        "year": _tex(item.year),
        "volume": _tex(item.text("volume")),
        "number": _tex(item.text("issue")),
        "pages": _tex("--".join(filter(None, item.pages))),
        "doi": item.doi.translate(_VERBATIM),  # styles make an address of it, so they take it as it is
        "pmid": _tex(item.pmid),
        "url": "" if item.doi else item.address,
        "keywords": _tex(", ".join(name.replace(",", "") for name in item.keywords)),
        "language": _tex(item.text("language")),
        "abstract": _tex(item.abstract),
        "note": _tex(". ".join((f"{item.collection}: {item.id}", *([INVENTED] if item.invented else []), *item.notes))),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in values.items() if value]
    return "\n".join([f"@{'article' if item.is_article else 'misc'}{{{key},", *lines, "}", ""])


def _name(name: str) -> str:
    """A name as BibTeX takes it apart: "Family, Jr, Given"; one that is not a person's is in braces, so that it is not."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) in _PERSON_PARTS and all(parts) and " and " not in f" {name.lower()} ":
        family, *given = parts
        return _tex(", ".join((family, *reversed(given))))
    is_word = len(parts) == 1 and " " not in name and name.lower() not in _BIBTEX_WORDS
    return _tex(name) if is_word else f"{{{_tex(name)}}}"


def _tex(text: str) -> str:
    return text.translate(_TEX)


def _key(item: Citation, taken: set[str]) -> str:
    plain = unicodedata.normalize("NFKD", item.id).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9:.-]+", "-", plain).strip("-") or "document"
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}-{number}"
    taken.add(key)
    return key

"""Recognises DOIs and PubMed ids, and builds the addresses that they lead to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, unquote

_DOI_ADDRESS: Final = re.compile(r"https?://(?:dx\.|www\.)?doi\.org/", re.IGNORECASE)
_DOI_PREFIX: Final = re.compile(r"doi:\s*", re.IGNORECASE)
_DOI_MARK: Final = re.compile(r"\s*\[doi\]$", re.IGNORECASE)
_DOI: Final = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+", re.ASCII)
_PMID: Final = re.compile(r"(?:pmid:?\s*)?([1-9]\d{0,8})(?:\.\d{1,3})?", re.IGNORECASE | re.ASCII)


def doi_of(text: str) -> str:
    """The DOI in `text`, which may be an address, begin with `doi:`, or end in `[doi]` as in MEDLINE; empty if it is not a DOI."""
    text = _DOI_MARK.sub("", text.strip())
    if address := _DOI_ADDRESS.match(text):
        text = unquote(text[address.end() :])
    elif prefix := _DOI_PREFIX.match(text):
        text = text[prefix.end() :]
    return text if _DOI.fullmatch(text) and text.isprintable() else ""


def pmid_of(text: str) -> str:
    """The PubMed id in `text`, without its version; empty if it is not one."""
    match = _PMID.fullmatch(text.strip())
    return match[1] if match else ""


def doi_address(text: str) -> str:
    """The address of a DOI; empty if the text is not a DOI. A DOI can contain brackets, quotes and letters of any script."""
    doi = doi_of(text)
    return f"https://doi.org/{quote(doi, safe='/:;()')}" if doi else ""


def pmid_address(text: str) -> str:
    """The page of a PubMed id; empty if the text is not a PubMed id."""
    pmid = pmid_of(text)
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else ""


ADDRESSES: Final[Mapping[str, Callable[[str], str]]] = {"pmid": pmid_address, "doi": doi_address}
"""The fields whose values are linked, each with a function from a value to its address, or to an empty text."""

"""An article as it was pasted: its text without the page around it, and the studies that it links to or names.

Pasted text comes from anywhere and can be large, so each pattern here takes time in proportion to the text: the parser of the
standard library takes minutes for 80 KB of `<a <a <a`, and is not used.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

MOST_TEXT: Final = 200_000
"""How much of an article's text is read, in characters: about 30,000 words, more than any article in a newspaper has."""
MOST_LINKS: Final = 100

_TAG: Final = re.compile(r"<(?:(?P<close>/?)(?P<name>[a-zA-Z][\w:-]{0,30})(?P<rest>[^<>]*)|[!?][^<>]*)>")
_RAW: Final = ("script", "style", "noscript", "template", "iframe", "textarea", "title")
"""Elements whose content is not markup, or is not shown as text: skipped up to their end."""
_HIDDEN: Final = frozenset(
    {"nav", "footer", "form", "button", "select", "svg", "math", "object", "aside", "figcaption"}
)
_INLINE: Final = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "var",
        "wbr",
    ]
)
_HREF: Final = re.compile(r"\bhref\s{0,5}=\s{0,5}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_IS_HTML: Final = re.compile(
    r"<(?:!doctype html|/?(?:html|head|body|article|main|section|div|p|br|h[1-6]|ul|ol|li|span|a|script|style)\b[^<>]{0,2000}>)",
    re.I,
)
_ADDRESS: Final = re.compile(r"\bhttps?://[^\s<>\"'“”]{3,2000}", re.IGNORECASE)
_DOI: Final = re.compile(r"\b10\.\d{4,9}/[^\s<>\"“”?#&]{2,200}", re.ASCII)
_PMID: Final = re.compile(
    r"(?:\bPMID:?\s{0,3}|\bpubmed(?:\.ncbi\.nlm\.nih\.gov/|/)|ncbi\.nlm\.nih\.gov/pubmed/)([1-9]\d{3,8})\b",
    re.IGNORECASE,
)
_SPACE: Final = re.compile(r"[^\S\n]+")
_GAPS: Final = re.compile(r" ?\n[ \n]*")


@dataclass(frozen=True, slots=True)
class PastedArticle:
    """The readable text of an article, `cut` if it had more, and what it points to, each once, in order.

    `links` are addresses on the web that hold no DOI or PubMed id.
    """

    text: str
    cut: bool
    dois: tuple[str, ...]
    pmids: tuple[str, ...]
    links: tuple[str, ...]

    @classmethod
    def of(cls, pasted: str) -> PastedArticle:
        """Read what was pasted, as HTML if it looks like that."""
        pasted = pasted.replace("\r\n", "\n").replace("\r", "\n")
        marked = is_html(pasted)
        text, addresses = _read_html(pasted) if marked else (pasted, [])
        addresses += _ADDRESS.findall(text)
        pointers = "\n".join(unquote(html.unescape(item)) for item in addresses)
        everything = f"{pointers}\n{text}"
        dois = _once(_trimmed(item) for item in _DOI.findall(everything))
        pmids = _once(_PMID.findall(everything))
        plain = (_trimmed(item) for item in addresses if not (_DOI.search(unquote(item)) or _PMID.search(item)))
        return cls(text[:MOST_TEXT], len(text) > MOST_TEXT, dois, pmids, _once(plain))


def is_html(text: str) -> bool:
    """Whether a text has a tag that articles on the web have; "p < .05" has none."""
    return bool(_IS_HTML.search(text))


def _once(items: Iterator[str] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item))[:MOST_LINKS]


def _trimmed(address: str) -> str:
    """Without the punctuation of the sentence around it; a closing bracket stays if it was opened."""
    address = address.rstrip(".,;:!?'\"”’*>]}")
    closes_more = address.endswith(")") and address.count(")") > address.count("(")
    return address[:-1].rstrip(".,;:") if closes_more else address


def _read_html(page: str) -> tuple[str, list[str]]:
    """The text, paragraphs as lines, and the addresses of its links."""
    pieces: list[str] = []
    links: list[str] = []
    hidden, depth = "", 0
    at = 0
    page = _without_comments(page)
    while match := _TAG.search(page, at):
        if not hidden:
            pieces.append(page[at : match.start()])
        at, name = match.end(), (match["name"] or "").lower()
        if name in _RAW and not match["close"]:
            at = _end_of(page, name, at)
        elif name in _HIDDEN and hidden in ("", name):
            depth = _depth(depth, bool(match["close"]), match["rest"])
            hidden = name if depth else ""
        elif name == "a" and not match["close"] and not hidden:
            links += [link for link in _addresses(match["rest"]) if link.lower().startswith(("http://", "https://"))]
        if name not in _INLINE:
            pieces.append("\n")
    if not hidden:
        pieces.append(page[at:])
    # Line breaks of the source are spaces; those that are left are the ends of blocks, which end sentences.
    lines = ("\n" if piece == "\n" else html.unescape(piece.replace("\n", " ")) for piece in pieces)
    return _GAPS.sub("\n\n", _SPACE.sub(" ", "".join(lines))).strip(), links


def _depth(depth: int, closes: bool, rest: str) -> int:
    """How deep the page is inside an element that is not shown, after one more tag of it; what else is in there is not counted."""
    if closes:
        return max(0, depth - 1)
    return depth if rest.endswith("/") else depth + 1


def _addresses(attributes: str) -> Iterator[str]:
    for found in _HREF.finditer(attributes[:4_000]):
        yield html.unescape(found[1] or found[2] or found[3] or "").strip()


def _end_of(page: str, name: str, start: int) -> int:
    """Behind the closing tag of an element that begins at `start`; the end of the page if it is never closed."""
    found = re.compile(rf"</{name}\b[^<>]*>", re.IGNORECASE).search(page, start)
    return found.end() if found else len(page)


def _without_comments(page: str) -> str:
    pieces, at = [], 0
    while (start := page.find("<!--", at)) >= 0:
        pieces.append(page[at:start])
        end = page.find("-->", start + 2)
        at = end + 3 if end >= 0 else len(page)
    return "".join((*pieces, page[at:]))

"""The readable text of HTML and XHTML: paragraphs as lines, without anything that a browser runs, hides or fetches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from mappings.errors import InvalidInput

_SKIPPED: Final = frozenset(
    "script style head title template noscript iframe object svg math select textarea".split()  # noqa: SIM905 (names)
)
_BLOCKS: Final = frozenset(
    "address article aside blockquote br caption dd div dl dt footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "  # noqa: SIM905
    "section table tr ul".split()
)
_SPACES: Final = re.compile(r"\s+")
_BLANKS: Final = re.compile(r"[^\S\n]+")
_GAPS: Final = re.compile(r" ?\n[ \n]*")


def html_text(html: str) -> str:
    """The text of an HTML page or fragment. Raises `InvalidInput` if the parser would have to leave out some of it."""
    if not html.strip():
        return ""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(html.encode(errors="replace"), parser)
    except etree.LxmlError as error:
        raise InvalidInput(f"the HTML cannot be parsed ({' '.join(str(error).split())[:200]})") from error
    if any(entry.level_name == "FATAL" for entry in parser.error_log):
        raise InvalidInput("the HTML is nested too deeply, or contains a text of more than 10 MB")
    return "" if root is None else _GAPS.sub("\n", _BLANKS.sub(" ", "".join(_pieces(root)))).strip()


def _pieces(root: etree._Element) -> Iterator[str]:
    preformatted = 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, node in walk:
        preformatted += (event == "start") - (event == "end") if node.tag == "pre" else 0
        if event == "start" and node.tag in _SKIPPED:
            walk.skip_subtree()
        if node.tag in _BLOCKS:
            yield "\n"
        elif node.tag in {"td", "th"}:
            yield " "
        text = (
            node.text if event == "start" and node.tag not in _SKIPPED else node.tail if event == "end" else ""
        ) or ""
        yield text if preformatted else _SPACES.sub(" ", text)

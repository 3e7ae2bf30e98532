"""Which concepts a text states and which it rules out, apart from its words: what a vector needs to tell them apart.

"No effusion, mild scarring" becomes the words "No , mild scarring", states *lung scarring*, and rules out *pleural
effusion*. A bi-encoder reads "effusion" and "no effusion" almost alike; `encoders.marked` keeps the two apart.
Concepts are named as the lexicon prefers. What may be so counts as stated; what is past, hypothetical or about the
family is neither stated nor ruled out, but stays among the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from mappings.analysis.mentions.findings import Finding, findings
from mappings.clinical.reading import READING_VERSION, ConceptMention, ConceptReader, shipped_reader
from mappings.documents import Section

MARKING_VERSION: Final = f"marking-1/{READING_VERSION}"
"""It changes if the same text would be marked differently; indexes name it."""

KEPT_TEXTS: Final = 20_000
_STATED: Final = ("present", "uncertain")
_RULED_OUT: Final = "ruled-out"
_WORD: Final = re.compile(r"\w+")
_SPACE: Final = re.compile(r"\s+")
_FUNCTION_WORDS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "by",
        "can",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "here",
        "in",
        "is",
        "it",
        "no",
        "none",
        "nor",
        "not",
        "of",
        "on",
        "or",
        "out",
        "patient",
        "seen",
        "she",
        "he",
        "so",
        "such",
        "that",
        "the",
        "their",
        "there",
        "these",
        "this",
        "to",
        "was",
        "were",
        "with",
        "without",
        "absence",
        "absent",
        "denied",
        "denies",
        "evidence",
        "free",
        "identified",
        "negative",
        "noted",
        "present",
        "ruled",
        "sign",
        "signs",
    ]
)
"""Words that say nothing without a mention: of "no evidence of effusion" the mention is all that is asked."""


class MarkedText(NamedTuple):
    """A text as a vector needs it.

    `words` is the text without the mentions that it rules out, or "" if they were all it had. `stated` and `ruled_out` are
    names of concepts, sorted, none in both; each share is how many of the text's words, function words aside, name them.
    """

    words: str
    stated: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    stated_share: float = 0.0
    ruled_out_share: float = 0.0


class TextMarker:
    """Marks texts by what `reader` reads of them. It can be shared by threads."""

    def __init__(self, reader: ConceptReader) -> None:
        self._lexicon = reader.lexicon
        self._reader = reader
        self.mark: Callable[[str], MarkedText] = lru_cache(KEPT_TEXTS)(self._mark)
        """The marked form of a text; a text without mentions has only its words."""

    def _mark(self, text: str) -> MarkedText:
        read = self._reader.read([Section("", text)]).mentions
        normal = _normal(text, [item for item in read if not self._is_normal(item)])
        mentions = [item for item in read if not (self._is_normal(item) and _overlaps(item, normal))]
        stated = [item for item in mentions if item.assertion in _STATED]
        ruled_out = [item for item in mentions if item.assertion == _RULED_OUT]
        names = self._names(stated)
        opposite = (self._names(ruled_out) | {self._named(item.name) for item in normal}) - names
        if not names and not opposite:
            return MarkedText(text)
        return MarkedText(
            _without(text, ruled_out),
            tuple(sorted(names)),
            tuple(sorted(opposite)),
            _share(text, stated),
            _share(text, [*ruled_out, *normal]) if opposite else 0.0,
        )

    def _is_normal(self, item: ConceptMention) -> bool:
        """Whether a mention is of "normal heart size" or the like, which says less than what it rules out."""
        return self._lexicon.get(item.concept).name.startswith("normal ")

    def _names(self, mentions: Iterable[ConceptMention]) -> set[str]:
        return {self._lexicon.get(item.concept).name for item in mentions}

    def _named(self, finding: str) -> str:
        concept = self._lexicon.named(finding)
        return concept.name if concept else finding


@cache
def shipped_marker() -> TextMarker:
    """The marker by the concepts that Medley comes with."""
    return TextMarker(shipped_reader())


def _normal(text: str, mentions: Sequence[ConceptMention]) -> list[Finding]:
    """The findings that a normal part rules out without naming them: "heart size is normal"."""
    return [
        item for item in findings(text) if not item.present and not item.uncertain and not _overlaps(item, mentions)
    ]


def _overlaps(item: ConceptMention | Finding, others: Sequence[ConceptMention | Finding]) -> bool:
    return any(other.start < item.end and item.start < other.end for other in others)


def _without(text: str, mentions: Sequence[ConceptMention]) -> str:
    """`text` without the mentions, or "" if only function words remain."""
    if not mentions:
        return text
    left = text
    for start, end in sorted({(item.start, item.end) for item in mentions}, reverse=True):
        left = f"{left[:start]} {left[end:]}"
    return _SPACE.sub(" ", left).strip() if _content(left) else ""


def _share(text: str, mentions: Sequence[ConceptMention | Finding]) -> float:
    """The share of the words of `text` that are in mentions, at most 1."""
    named = {place for item in mentions for place in range(item.start, item.end)}
    words = sum(match.start() in named for match in _WORD.finditer(text))
    return min(1.0, words / max(1, _content(text)))


def _content(text: str) -> int:
    return sum(word not in _FUNCTION_WORDS and not word.isdigit() for word in _WORD.findall(text.lower()))

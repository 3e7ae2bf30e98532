"""Short queries: what they ask for, word by word, each in any of its forms.

Somebody who types a name, an abbreviation or one or two words wants the documents that have them, and no others first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mappings.analysis.abbreviations import senses, shortened, singular
from mappings.analysis.words import tokens
from search.query import Phrase

MAX_ASKED: Final = 3
"""A query that asks for more is a question or a claim, which other words can answer."""

MAX_WORDS: Final = 8
"""Typed words, those of names included."""

_FUNCTION: Final = (
    "about after against all among and any before between during each from has have her his how its my no of off or other "
    "our out over per since some than their these those under until up vs versus via what when which who within your"
)
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())
"""Words that join what is asked for; no text is looked up by them."""

_AMOUNT: Final = re.compile(r"\d\s?[a-z]")
"""A unit after a number is no abbreviation: "MS" is not in "164 ms"."""

_QUESTION: Final = re.compile(
    r"(?i)(what|which|who|whose|why|how|when|where|is|are|was|were|do|does|did|can|could|should|will|would|has|have|had)\b"
    r"|.*\?\s*$"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a short query asks for: a word, a name or an abbreviation.

    `forms` are all that a text can call it. `short` is the abbreviation as typed, "" for anything else: a text has it only
    in this spelling, which a stem does not tell ("SAD", "sad"); with `cased`, in capitals too. `meanings` are the long
    forms of an abbreviation, the most common first.
    """

    typed: str
    forms: tuple[Phrase, ...]
    short: str = ""
    cased: bool = False
    meanings: tuple[str, ...] = ()


def asked(text: str) -> tuple[Asked, ...]:
    """What a short query asks for; nothing for a question, a longer text, and one of stop words alone."""
    words = text.split()
    if len(words) > MAX_WORDS or _QUESTION.match(text.strip()):
        return ()
    found = tuple(_read(words))
    return found if 0 < len(found) <= MAX_ASKED else ()


def phrase(text: str) -> Phrase:
    """The terms of `text`, with an empty word for each stop word between them."""
    words = tokens(text)
    placed = {token.position: token.term for token in words}
    return tuple(placed.get(place, "") for place in range(words[0].position, words[-1].position + 1)) if words else ()


def _read(words: Sequence[str]) -> Iterator[Asked]:
    place = 0
    while place < len(words):
        taken = next((end for end in range(len(words), place, -1) if _name(words[place:end]) is not None), place + 1)
        name = _name(words[place:taken])
        yield from [name] if name else _plain(words[place])
        place = taken


def _plain(word: str) -> Iterable[Asked]:
    own = phrase(word)
    return [Asked(word, (own,))] if own and word.lower().strip(".,;:()") not in FUNCTION_WORDS else []


def _name(words: Sequence[str]) -> Asked | None:
    """The abbreviation or long form of our dictionary that these words are, all of them; None if they are none.

    No name ends with "of": of "treatment of asthma" the first word is one.
    """
    if words[-1].lower() == "of":
        return None
    typed = " ".join(words).strip(".,;:()")
    if entries := shortened(typed):
        shorts = [entry.short for entry in entries if not entry.cased and len(senses(entry.short)) == 1]
        return Asked(typed, _forms(typed, *entries[0].longs, *shorts))
    entries = senses(typed)
    if not entries:
        return None
    short = singular(typed)
    longs = [long for entry in entries for long in entry.longs]
    meanings = tuple(dict.fromkeys(entry.long for entry in entries))
    return Asked(typed, _forms(short, *longs), short, any(entry.cased for entry in entries), meanings)


def _forms(*texts: str) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(form for form in map(phrase, texts) if form))


class Words:
    """The terms of one text by their positions, to look phrases up in."""

    def __init__(self, text: str) -> None:
        self._placed = {token.position: token.term for token in tokens(text)}

    def hold(self, form: Phrase) -> bool:
        """Whether the terms stand in the text in this order; an empty one stands for any word."""
        if not form:
            return False
        starts = (position for position, term in self._placed.items() if term == form[0])
        return any(
            all(not term or self._placed.get(start + step) == term for step, term in enumerate(form))
            for start in starts
        )


def can_hold(text: str, form: Phrase) -> bool:
    """Whether `text` has the beginnings of all terms: if not, it does not hold the form. Takes a hundredth of reading it.

    Stems keep the beginning of all words but "dying", "lying" and "tying"; a text with accents may hold any form.
    """
    lower = text.lower()
    return not lower.isascii() or all(term[: min(3, len(term) - 1)] in lower for term in form if term)


def has(item: Asked, text: str) -> bool:
    """Whether `text` has the thing asked for, an abbreviation in its own spelling; True where no form of it occurs.

    The index says where a form occurs, possibly in another passage: only a look-alike is refused here.
    """
    if not item.short:
        return True
    words, short = Words(text), phrase(item.short)
    if any(words.hold(form) for form in item.forms if form != short) or not words.hold(short):
        return True
    flags = re.NOFLAG if item.cased else re.IGNORECASE
    found = (match[0] for match in re.finditer(_spelling(item.short), text, flags))
    return any(_AMOUNT.match(match) is None for match in found)


def _spelling(short: str) -> str:
    """A pattern for an abbreviation as a word of its own. One of two letters is often part of another name: "PD-1", "PD-L1"."""
    ending = r"(?!\w|[-\u2010\u2011](?-i:[A-Z0-9]))" if len(short) == 2 else r"(?!\w)"
    return rf"(?:\d\s?)?(?<![^\W\d]){re.escape(short)}(?:['’]?s)?{ending}"


def meanings_in(item: Asked, text: str) -> tuple[str, ...]:
    """Those meanings of an abbreviation that `text` spells out."""
    words = Words(text)
    return tuple(long for long in item.meanings if words.hold(phrase(long)))

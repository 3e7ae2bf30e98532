"""A window of a passage, or a passage of a document, as one text that also holds what is around it.

Encoders that read windows late pool the window's tokens after reading the whole passage (late chunking, Günther et al. 2024);
those that read surroundings read a passage among its document's other passages (CAPR's Longformer); for all others, `alone`
is the window or passage with its context before it. Three noncharacters of Unicode, which no text has a use for, divide the
parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SURROUNDING_WORDS: Final = 1500
"""So many words of a document are kept on each side of a passage: together about what a model of 4,096 tokens reads."""
_CONTEXT, _START, _END = "\ufdd0", "\ufdd1", "\ufdd2"
_NONE: Final = dict.fromkeys(map(ord, (_CONTEXT, _START, _END)), " ")


class PlacedWindow(NamedTuple):
    """A window, what precedes and follows it in its passage, and the passage's context, such as its title."""

    context: str
    before: str
    window: str
    after: str

    @property
    def whole(self) -> str:
        """The passage with its context."""
        return f"{self.context}{self.before}{self.window}{self.after}"

    @property
    def alone(self) -> str:
        """The window with the context, without the rest of the passage."""
        return f"{self.context}{self.window}"

    @property
    def span(self) -> tuple[int, int]:
        """The characters `start:end` of the window in `whole`."""
        start = len(self.context) + len(self.before)
        return start, start + len(self.window)

    def near(self, most: int) -> PlacedWindow:
        """Each part cut to at most `most` characters: of those before and after the window the nearest."""
        return PlacedWindow(self.context[:most], self.before[-most:], self.window[:most], self.after[:most])


def place_window(context: str, text: str, start: int, end: int) -> str:
    """The text of the window `text[start:end]` in its passage, of the same length for every window of a passage."""
    context, text = (part.translate(_NONE) for part in (f"{context} " if context else "", text))
    return f"{context}{_CONTEXT}{text[:start]}{_START}{text[start:end]}{_END}{text[end:]}"


def place_in_document(passages: Sequence[str], shown: Sequence[str] | None = None) -> list[str]:
    """The texts of a document's passages, each among the others, in order.

    `shown` are the passages as a model reads them, such as with their titles, where that is not their text alone: the
    title is then read once, with the passage, and not again with each of its neighbours.
    """
    around = surrounding_texts(passages)
    return [
        place_passage(" ".join(before), passage, " ".join(after))
        for passage, (before, after) in zip(passages if shown is None else shown, around, strict=True)
    ]


def surrounding_texts(passages: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each passage of a document the texts (before it, after it), in the document's order.

    Of those on a side the nearest are kept, whole, until they have `SURROUNDING_WORDS` words together; blank ones are left out.
    """
    sizes = [len(passage.split()) for passage in passages]

    def kept(places: Iterable[int]) -> list[str]:
        found, words = [], 0
        for place in places:
            if words >= SURROUNDING_WORDS:
                break
            words += sizes[place]
            if sizes[place]:
                found.append(passages[place])
        return found

    count = len(passages)
    return [(tuple(kept(range(at - 1, -1, -1))[::-1]), tuple(kept(range(at + 1, count)))) for at in range(count)]


def place_passage(before: str, passage: str, after: str) -> str:
    """The text of a whole passage with what is around it in its document: read alone, it is the passage."""
    if not (before or after):
        return passage
    before, passage, after = (part.translate(_NONE) for part in (before, passage, after))
    return f"{_CONTEXT}{before} {_START}{passage}{_END} {after}"


def read_window(text: str) -> PlacedWindow:
    """The parts of a text from `place_window`; any other text is a window with nothing around it."""
    context, placed, rest = text.partition(_CONTEXT)
    if not placed:
        return PlacedWindow("", "", text.translate(_NONE), "")
    before, _, rest = rest.partition(_START)
    window, _, after = rest.partition(_END)
    return PlacedWindow(context, before, window, after)


def shorten(text: str, most: int) -> str:
    """A text, placed or not, of which each part is cut to `most` characters: a window and what is nearest to it stay."""
    if len(text) <= most:
        return text
    if _CONTEXT not in text:
        return text[:most]
    context, before, window, after = read_window(text).near(most)
    return f"{context}{_CONTEXT}{before}{_START}{window}{_END}{after}"


def alone(text: str) -> str:
    """A text as an encoder reads it that knows nothing of windows in their passages."""
    return read_window(text).alone if _CONTEXT in text else text

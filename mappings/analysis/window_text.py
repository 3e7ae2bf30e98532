"""A window of a passage, as one text that also holds what is around it.

Encoders that read windows late pool the window's tokens after reading the whole passage (late chunking, Günther et al. 2024);
for others, `alone` is the window with the passage's context before it. Three noncharacters of Unicode, which no text has
a use for, divide the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

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


def place_window(context: str, text: str, start: int, end: int) -> str:
    """The text of the window `text[start:end]` in its passage, of the same length for every window of a passage."""
    context, text = (part.translate(_NONE) for part in (f"{context} " if context else "", text))
    return f"{context}{_CONTEXT}{text[:start]}{_START}{text[start:end]}{_END}{text[end:]}"


def place_in_document(passages: Sequence[str]) -> list[str]:
    """The texts of a document's passages, each among the others."""
    return [
        place_passage(" ".join(passages[:at]), passage, " ".join(passages[at + 1 :]))
        for at, passage in enumerate(passages)
    ]


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


def alone(text: str) -> str:
    """A text as an encoder reads it that knows nothing of windows in their passages."""
    return read_window(text).alone if _CONTEXT in text else text

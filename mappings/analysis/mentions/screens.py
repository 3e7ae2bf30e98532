"""The words of a text, told apart without a regular expression."""

from __future__ import annotations

from typing import Final, NamedTuple

_BLANK: Final = ord(" ")
_ASCII: Final = bytes(code if code < 128 and chr(code).isalnum() else _BLANK for code in range(256))


def lowered(text: str) -> str:
    """`text` in lowercase, every character in its place."""
    return text.replace("\u0130", "\u0131").lower()  # of all letters, only this one has two in lowercase


def blanked(text: str) -> str:
    """`text` with a space for every character that is neither a letter nor a digit."""
    if text.isascii():
        return text.encode("ascii").translate(_ASCII).decode("ascii")
    return text.translate(_OTHERS)


def words_of(text: str) -> list[str]:
    """The runs of letters and digits of `text`, in lowercase; "" is between two that more than one character separates."""
    return blanked(lowered(text)).split(" ")


class Screened(NamedTuple):
    """A sentence with what is asked of it again and again: its `text` in lowercase, `words_of` it, and these as a set."""

    sentence: str
    text: str
    words: list[str]
    said: frozenset[str]

    @classmethod
    def of(cls, sentence: str) -> Screened:
        """The screened form of a sentence."""
        text = lowered(sentence)
        words = blanked(text).split(" ")
        return cls(sentence, text, words, frozenset(words))


class _Blanks(dict[int, int]):
    """What `blanked` makes of every character seen."""

    def __missing__(self, code: int) -> int:
        self[code] = code if chr(code).isalnum() else _BLANK
        return self[code]


_OTHERS: Final = _Blanks()

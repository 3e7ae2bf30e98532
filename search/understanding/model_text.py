"""What the models read of a query: the opening of a long text, with short forms written out where documents write them out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mappings.analysis.abbreviations import defined
from mappings.analysis.sentences import sentences
from mappings.analysis.words import terms

MODEL_WORDS: Final = 64
"""How many words of a query the models read, in whole sentences: a pasted article has its claim in headline and lead."""


def opening(text: str) -> str:
    """The first sentences of a text that are at most `MODEL_WORDS` words together; the first one whatever its length."""
    end, words = 0, 0
    for sentence in sentences(text):
        words += len(text[sentence.start : sentence.end].split())
        if end and words > MODEL_WORDS:
            break
        end = sentence.end
    return text[:end].strip()


def write_out(text: str, found: Sequence[tuple[str, str]]) -> str:
    """A text with its short forms replaced by their long ones; `found` are the pairs (short, long) of it.

    A reranker takes "CF" for a word, and prefers documents that hold it to those on cystic fibrosis. A short form stays where
    it has several meanings, where the text has the long form or defines it, and where it is part of another word
    ("COVID-19").
    """
    meanings: dict[str, list[str]] = {}
    for short, long in found:
        meanings.setdefault(short, []).append(long)
    defines = {short.lower() for short in defined(text)}
    for short, (long, *others) in meanings.items():
        if not (others or short.lower() in defines or _holds(text, long)):
            text = _replace(text, short, long)
    return text


def _holds(text: str, words: str) -> bool:
    return f" {' '.join(terms(words))} " in f" {' '.join(terms(text))} "


def _replace(text: str, short: str, long: str) -> str:
    def in_number(match: re.Match[str]) -> str:
        return f"{long}s" if match[1] and not long.endswith("s") else long

    return re.sub(rf"(?<![\w-]){re.escape(short)}(s?)(?![\w-])", in_number, text)

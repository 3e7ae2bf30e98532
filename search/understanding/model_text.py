"""What the models read of a long text: its opening."""

from __future__ import annotations

from typing import Final

from mappings.analysis.sentences import sentences

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

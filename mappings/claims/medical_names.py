"""The medical names that a sentence mentions, by the lexicon of concepts."""

from __future__ import annotations

from mappings.clinical.reading import shipped_reader


def medical_names(sentence: str) -> list[str]:
    """The names of diseases, findings, drugs and procedures in a sentence, as it spells them."""
    return [sentence[item.start : item.end] for item in shipped_reader().read_alone(sentence)]

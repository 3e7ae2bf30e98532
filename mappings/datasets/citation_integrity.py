"""Citation integrity (Sarol et al. 2024), in SciFact's form: what papers claim of an article that they cite.

A paragraph is up to five sentences of the cited article, chosen for one claim and in no order of the text. Eighty
articles are cited, each by some thirty claims, so paragraphs of one article share sentences: 52 sets of sentences occur
twice or more, in whatever order. Three paragraphs are empty. Where annotators marked no evidence, the claim is one that
its paragraph has nothing about. Claims were cut out of their papers: some are broken off, or keep a stray bracket.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mappings.datasets.scifact import ScientificClaim, SentenceAbstract, read_cited_claims, read_sentence_abstracts

NAME: Final = "citation_integrity"
_NUMBERED: Final = 3
"""The last digits of a paragraph's id number it within its article: 31008 is of the article 31."""


def read_paragraphs(data: Path | None) -> Iterator[SentenceAbstract]:
    """The 2,457 paragraphs, without titles."""
    return read_sentence_abstracts(data, f"{NAME}/corpus", "doc_id")


def read_claims(data: Path | None, split: str) -> Iterator[ScientificClaim]:
    """The claims of a split, `train` or `dev`. The splits cite different articles; an id can be in both."""
    return read_cited_claims(data, f"{NAME}/claims_{split}")


def article_of(paragraph: str) -> str:
    """The article that a paragraph is of, by its id."""
    return paragraph[:-_NUMBERED]

"""The page on which claims begin: what was pasted, and the claims and pointers that were found in an article."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from mappings.analysis.sentences import sentences
from mappings.claims.article import PastedArticle
from mappings.claims.check_worthy import MOST_CHARACTERS, ProposedClaim, proposed_claims
from mappings.claims.medical_names import medical_names
from mappings.claims.remarks import ClaimRemark, remarks_on
from mappings.collection import Collection
from mappings.errors import MedleyError
from web.pages.addresses import SearchAddress
from web.pages.claims.addresses import search_address

MOST_TEXT_SHOWN: Final = 20_000
"""A longer text is not sent back in the field that it was pasted into."""
_UNJUDGED: Final = 20
_ENDS: Final = re.compile(r"(?<=[。！？؟])")


@dataclass(slots=True)
class ClaimsPage:
    """The field to paste into and, below, what was found in an article."""

    collections: Sequence[Collection]
    collection: Collection | None
    text: str = ""
    kind: str = ""
    error: MedleyError | None = None
    article: PastedArticle | None = None
    claims: Sequence[ProposedClaim] = field(default_factory=list)

    def read(self, pasted: str) -> None:
        """Propose the claims of an article. Where the rules find none, its first sentences can be chosen instead."""
        self.article = PastedArticle.of(pasted)
        self.claims = proposed_claims(self.article.text, medical_names)
        if not self.claims:
            short = (item for item in _sentences(self.article.text) if len(item) <= MOST_CHARACTERS)
            self.claims = [ProposedClaim(item, 0, 0, (), 0.0) for item in islice(short, _UNJUDGED)]

    @property
    def judged(self) -> bool:
        """Whether the rules found the claims."""
        return any(item.reasons for item in self.claims)

    @property
    def shown_text(self) -> str:
        """What stands in the field."""
        return self.text if len(self.text) <= MOST_TEXT_SHOWN else ""

    @property
    def identifiers(self) -> list[tuple[str, str, SearchAddress]]:
        """(kind, id, the search for it in the collection) of the DOIs and PubMed ids that the article names."""
        if self.article is None or self.collection is None:
            return []
        named = [("DOI", item) for item in self.article.dois] + [("PubMed id", item) for item in self.article.pmids]
        return [(kind, name, search_address(self.collection, name)) for kind, name in named]

    def remarks(self, claim: str) -> list[ClaimRemark]:
        """What is to be said of a proposed claim."""
        return remarks_on(claim)


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text in any script: those of English do not end at an ideographic full stop."""
    for item in sentences(text):
        parts = _ENDS.split(text[item.start : item.end])
        yield from (" ".join(part.split()) for part in parts if part.strip())

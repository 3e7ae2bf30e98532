"""What the tools of an assistant ask: a gateway with a token, or the collections of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from search.pipeline.checks import sort_orders
from web.cohorts.answers import CohortAnswer
from web.cohorts.forms import CohortPageForm
from web.cohorts.use_cases import CohortUseCases
from web.forms import search_form, to_query
from web.kept.bundles import with_bundles
from web.search_answers import SearchAnswer, StanceAnswer
from web.use_cases import UseCases
from web.validation import validated
from web.wire import CollectionJson, DocumentAnswer


class Library(Protocol):
    """What one caller may see. `web.client.client.MedleyClient` is one, over HTTP."""

    def collections(self) -> list[CollectionJson]:
        """The collections that the caller can see."""
        ...

    def search(self, text: str, collection: str, fields: Mapping[str, Any]) -> SearchAnswer:
        """One page of an answer."""
        ...

    def stance(self, text: str, document: str, collection: str) -> StanceAnswer:
        """What a document says of a claim."""
        ...

    def document(self, identifier: str, collection: str) -> DocumentAnswer:
        """The newest version of a document."""
        ...

    def cohort(self, definition: Mapping[str, Any], *, size: int = 20, after: str = "") -> CohortAnswer:
        """A page of the patients who meet a definition."""
        ...


@dataclass(frozen=True, slots=True)
class LocalLibrary:
    """The collections of this machine, searched in this process, as the caller of `use_cases`."""

    use_cases: UseCases

    def collections(self) -> list[CollectionJson]:
        """The collections that the caller can see."""
        return [CollectionJson.of(item, sort_orders(item)) for item in self.use_cases.collections.all()]

    def search(self, text: str, collection: str, fields: Mapping[str, Any]) -> SearchAnswer:
        """One page of an answer."""
        form = search_form({**fields, "collection": collection, "text": text})
        found = self.use_cases.named(form.collection, "search")
        query = with_bundles(to_query(form, found, self.use_cases.caller.access), self.use_cases)
        return SearchAnswer.of(self.use_cases.search(query), found)

    def stance(self, text: str, document: str, collection: str) -> StanceAnswer:
        """What a document says of a claim."""
        found = self.use_cases.named(collection, "stance")
        return StanceAnswer.of(self.use_cases.read_claim(found.name, document, text), found)

    def document(self, identifier: str, collection: str) -> DocumentAnswer:
        """The newest version of a document."""
        found = self.use_cases.named(collection, "document")
        return DocumentAnswer.of(found, self.use_cases.document(found.name, identifier, "document"))

    def cohort(self, definition: Mapping[str, Any], *, size: int = 20, after: str = "") -> CohortAnswer:
        """A page of the patients who meet a definition."""
        form = validated(CohortPageForm, {**definition, "size": size, "after": after})
        return CohortAnswer.of(*CohortUseCases(self.use_cases).page(form))

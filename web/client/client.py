"""A typed client of the HTTP API, for programs in Python.

    with MedleyClient("http://localhost:8080", token) as medley:
        answer = medley.search("Aspirin prevents strokes", "abstracts", {"size": 5})
        for hit in answer.hits:
            print(hit.title, hit.evidence[0].text)

Answers are the models that the API description is made of (`web.api.openapi`), so an editor completes their fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from web.api.ingestion_answers import DeletionAnswer, FeedAnswer, JobAnswer, RecordOutcome
from web.client.errors import ConnectionFailed
from web.client.transport import Transport
from web.cohorts.answers import CohortAnswer, ComparisonAnswer
from web.kept.shapes import KeptAnswer, KeptListAnswer
from web.search_answers import BatchAnswer, SearchAnswer, StanceAnswer
from web.wire import CollectionJson, CollectionsAnswer, DocumentAnswer

CitationFormat = Literal["ris", "bibtex", "csv"]
CohortFormat = Literal["csv", "omop", "fhir"]
NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})
_LINES: Final = "application/x-ndjson"
Answer = TypeVar("Answer", bound=BaseModel)


class MedleyClient:
    """A gateway at `address`, as the caller with `token`. Threads can share it; `close` it, or use it in a `with`.

    Every method raises `web.client.errors.ApiError` for an answer that is an error, and `ConnectionFailed` without an answer.
    `timeout` is in seconds.
    """

    def __init__(self, address: str, token: str = "", timeout: float = 60.0, retries: int = 2) -> None:
        self._transport = Transport(address, token, timeout, retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the gateway."""
        self._transport.close()

    def collections(self) -> list[CollectionJson]:
        """The collections that the caller can see."""
        return self._ask(CollectionsAnswer, "GET", "/v1/collections").collections

    def search(self, text: str, collection: str, fields: Mapping[str, Any] = NO_FIELDS) -> SearchAnswer:
        """One page of an answer. `fields` are further ones of a search, such as `size`, `filters`, `explain`, `with`."""
        return self._ask(SearchAnswer, "POST", "/v1/search", {**fields, "collection": collection, "text": text})

    def pages(self, text: str, collection: str, fields: Mapping[str, Any] = NO_FIELDS) -> Iterator[SearchAnswer]:
        """All pages of an answer, as far as paging goes."""
        answer = self.search(text, collection, fields)
        yield answer
        while answer.cursor:
            answer = self.search(text, collection, {**fields, "cursor": answer.cursor})
            yield answer

    def search_batch(self, searches: Sequence[Mapping[str, Any]]) -> list[SearchAnswer]:
        """The answers to several searches, in order; each is given as the fields of `search` with its `collection`."""
        return self._ask(BatchAnswer, "POST", "/v1/search/batch", {"searches": [*map(dict, searches)]}).answers

    def stance(self, text: str, document: str, collection: str) -> StanceAnswer:
        """What a document, given by its id, says of a claim."""
        asked = {"collection": collection, "document": document, "text": text}
        return self._ask(StanceAnswer, "POST", "/v1/stance", asked)

    def document(self, identifier: str, collection: str) -> DocumentAnswer:
        """The newest version of a document."""
        return self._ask(DocumentAnswer, "GET", _document(identifier), parameters={"collection": collection})

    def citation(self, identifier: str, collection: str, form: CitationFormat = "ris") -> str:
        """The citation of a document, for a reference manager."""
        parameters = {"collection": collection, "format": form}
        return self._transport.content("GET", _document(identifier), parameters=parameters).decode()

    def cohort(self, definition: Mapping[str, Any], *, size: int = 20, after: str = "") -> CohortAnswer:
        """A page of the patients who meet a definition, as the API describes it."""
        return self._ask(CohortAnswer, "POST", "/v1/cohorts", {**definition, "size": size, "after": after})

    def compare_cohorts(self, a: Mapping[str, Any], b: Mapping[str, Any], *, size: int = 100) -> ComparisonAnswer:
        """Which patients are in both cohorts, and which in one only."""
        return self._ask(ComparisonAnswer, "POST", "/v1/cohorts/compare", {"a": {**a}, "b": {**b}, "size": size})

    def export_cohort(self, definition: Mapping[str, Any], form: CohortFormat) -> bytes:
        """A cohort as a file."""
        content = json.dumps({**definition, "format": form}).encode()
        return self._transport.content("POST", "/v1/cohorts/export", content)

    def feed(self, records: Iterable[Mapping[str, Any]], collection: str) -> tuple[FeedAnswer, list[RecordOutcome]]:
        """Deliver documents and deletions: what became of them together, and of each that the gateway lists."""
        content = (json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)
        parameters = {"collection": collection}
        lines = self._transport.content("POST", "/v1/documents", content, parameters, _LINES).splitlines()
        *outcomes, total = [json.loads(line) for line in lines] or [None]
        return self._built(FeedAnswer, total), [self._built(RecordOutcome, item) for item in outcomes]

    def delete(self, identifier: str, collection: str) -> DeletionAnswer:
        """Delete a document."""
        return self._ask(DeletionAnswer, "DELETE", _document(identifier), parameters={"collection": collection})

    def job(self, identifier: str) -> JobAnswer:
        """The progress of a delivery."""
        return self._ask(JobAnswer, "GET", f"/v1/jobs/{quote(identifier, safe='')}")

    def kept(self, kind: str | None = None) -> Iterator[KeptAnswer]:
        """What the caller keeps and what is shared with them, what was changed last first."""
        parameters: dict[str, str] = {"kind": kind} if kind else {}
        while True:
            page = self._ask(KeptListAnswer, "GET", "/v1/kept", parameters=parameters)
            yield from page.items
            if page.next is None:
                return
            parameters["after"] = page.next

    def keep(self, kind: str, name: str, content: Mapping[str, Any], collection: str = "") -> KeptAnswer:
        """Keep a search, a bundle of terms, a cohort, a dossier or judgements."""
        item = {"kind": kind, "name": name, "content": dict(content), "collection": collection}
        return self._ask(KeptAnswer, "POST", "/v1/kept", item)

    def _ask(
        self, kind: type[Answer], method: str, path: str, body: Any = None, parameters: Mapping[str, Any] | None = None
    ) -> Answer:
        return self._built(kind, self._transport.json(method, path, body, parameters))

    def _built(self, kind: type[Answer], value: Any) -> Answer:
        try:
            return kind.model_validate_json(json.dumps(value))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ConnectionFailed(
                f"the answer is not one of this version of Medley ({where}: {first['msg']}): use the client of the gateway's",
                field="address",
            ) from error


def _document(identifier: str) -> str:
    return f"/v1/documents/{quote(identifier)}"

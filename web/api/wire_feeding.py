"""The JSON forms of answers to those who write documents."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from web.use_cases import RecordStatus
from web.wire import ErrorBody, WireModel


class RecordOutcome(WireModel):
    """What became of one record. Whatever it says about a document is in the store."""

    line: int = Field(description="the line of the record, counted from 1")
    id: str | None
    status: RecordStatus
    version: int | None = Field(description="the newest version of the document")
    error: ErrorBody | None = Field(description="why the record was rejected")


class FeedAnswer(WireModel):
    """The last line: how many records had which outcome. Before it comes a `RecordOutcome` for each record."""

    job: str
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    unknown: int
    rejected: int
    queued: bool = Field(
        description="false: not announced to a worker yet; the sweeper or `medley ingest` will find it"
    )
    retry_after: int | None = Field(
        description="seconds after which the records rejected as `overloaded` can be sent again"
    )


class DeletionAnswer(WireModel):
    """A document that was deleted."""

    id: str
    status: Literal["deleted"]
    version: int
    job: str
    queued: bool


class ChangesJson(WireModel):
    """Where the changes of a delivery stand; deletions are counted like documents."""

    model_config = ConfigDict(title="Changes")

    indexed: int = Field(description="searches see them")
    waiting: int
    failed: int
    superseded: int = Field(description="a newer version replaced them")


class FailureJson(WireModel):
    """A document that could not be indexed."""

    model_config = ConfigDict(title="Failure")

    id: str
    cause: str


class JobAnswer(WireModel):
    """A delivery: what became of its records on arrival, and of its documents since."""

    job: str
    collection: str
    started: str
    finished: str | None
    broken: bool = Field(description="it ended before its sender had sent everything")
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    rejected: int
    documents: ChangesJson
    failures: list[FailureJson] = Field(description="the first 20")
    state: Literal["receiving", "waiting", "done"]

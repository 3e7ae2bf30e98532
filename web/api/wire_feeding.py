"""What is answered to those who put documents in, and its schema."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from web.wire import ErrorBody


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Outcome(_Wire):
    """What became of one record. Whatever it says of a document is in the store."""

    line: int = Field(description="the record's line, counted from 1")
    id: str | None
    status: Literal["accepted", "unchanged", "stale", "deleted", "unknown", "rejected"]
    version: int | None = Field(description="the document's newest version")
    error: ErrorBody | None = Field(description="why a record was rejected")


class FeedAnswer(_Wire):
    """The last line: how many records had which outcome. There is one before it for each record, an `Outcome`."""

    job: str
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    unknown: int
    rejected: int
    queued: bool = Field(description="false: no worker was told yet; the sweeper or `medley ingest` finds what waits")
    retry_after: int | None = Field(
        description="seconds after which the records rejected as `overloaded` may come again"
    )


class DeletionAnswer(_Wire):
    """A document that was deleted."""

    id: str
    status: Literal["deleted"]
    version: int
    job: str
    queued: bool


class ChangesJson(_Wire):
    """Where the changes of a delivery stand; deletions are counted as documents are."""

    model_config = ConfigDict(extra="forbid", title="Changes")

    indexed: int = Field(description="searches see them")
    waiting: int
    failed: int
    superseded: int = Field(description="something newer took their place")


class FailureJson(_Wire):
    """A document that could not be indexed."""

    model_config = ConfigDict(extra="forbid", title="Failure")

    id: str
    cause: str


class JobAnswer(_Wire):
    """A delivery: what became of its records when they came, and of its documents since."""

    job: str
    collection: str
    started: str
    finished: str | None
    broken: bool = Field(description="it ended before its sender had said all")
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    rejected: int
    documents: ChangesJson
    failures: list[FailureJson] = Field(description="the first 20")
    state: Literal["receiving", "waiting", "done"]

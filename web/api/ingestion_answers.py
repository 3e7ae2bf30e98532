"""The JSON shapes of the answers to clients that write documents, each a pydantic model."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from web.use_cases import RecordStatus
from web.wire import ErrorDetail, WireModel


class RecordOutcome(WireModel):
    """The outcome of one record. Every change that it reports is already in the store."""

    line: int = Field(description="the line of the record, counted from 1")
    id: str | None
    status: RecordStatus
    version: int | None = Field(description="the newest version of the document")
    error: ErrorDetail | None = Field(description="why the record was rejected")


class FeedAnswer(WireModel):
    """The last line, after a `RecordOutcome` for each listed record: how many records had each outcome, listed or not."""

    job: str
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    unknown: int
    rejected: int
    queued: bool = Field(description="false: not queued for a worker yet; the sweeper or `medley ingest` will find it")
    retry_after: int | None = Field(
        description="seconds after which the records rejected as `overloaded` can be sent again"
    )
    outcomes_omitted: int = Field(description="records whose outcome is counted here, but not listed")
    rejections_omitted: int = Field(description="how many of these were rejected")
    dropped_fields: dict[str, int] = Field(
        description="keys that the collection's kind does not know, so their values were not kept: in how many documents"
    )


class DeletionAnswer(WireModel):
    """A document that was deleted."""

    id: str
    status: Literal["deleted"]
    version: int
    job: str
    queued: bool


class ChangesJson(WireModel):
    """The progress of a delivery's changes; deletions count as documents."""

    model_config = ConfigDict(title="Changes")

    indexed: int = Field(description="visible to searches")
    waiting: int
    failed: int
    superseded: int = Field(description="replaced by a newer version")


class FailureJson(WireModel):
    """A document that could not be indexed."""

    model_config = ConfigDict(title="Failure")

    id: str
    cause: str


class JobAnswer(WireModel):
    """The progress of a delivery: the outcomes of its records on arrival, and of its documents since."""

    job: str
    collection: str
    started: str
    finished: str | None
    broken: bool = Field(description="it ended before the client had sent everything")
    accepted: int
    unchanged: int
    stale: int
    deleted: int
    rejected: int
    documents: ChangesJson
    failures: list[FailureJson] = Field(description="the first 20")
    state: Literal["receiving", "waiting", "done"]

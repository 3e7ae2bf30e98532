"""Builds the answer of `GET /v1/jobs/<id>`: the outcomes of a delivery's records, and the states of its documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

from search.storage import DocumentStore, Job, State, StoreCounts
from web.api.ingestion_answers import ChangesJson, FailureJson, JobAnswer
from web.use_cases import counts_by_state

SHOWN_FAILURES: Final = 20


def job_answer(job: Job, collection: str, store: DocumentStore, index: str) -> JobAnswer:
    """Build the answer for a job from its store; `index` is the published one."""
    counts = store.counts(index, job.id)
    failed = store.states(index, State.FAILED, SHOWN_FAILURES, job.id) if counts.states.get(State.FAILED) else []
    return JobAnswer(
        job=job.id,
        collection=collection,
        started=_timestamp(job.started),
        finished=_timestamp(job.finished) if job.finished else None,
        broken=job.broken,
        accepted=job.accepted - job.unchanged,
        unchanged=job.unchanged,
        stale=job.stale,
        deleted=job.deleted,
        rejected=job.rejected,
        documents=_changes(job, counts),
        failures=[FailureJson(id=item.id, cause=item.cause) for item in failed],
        state=_state(job, counts),
    )


def _changes(job: Job, counts: StoreCounts) -> ChangesJson:
    """What became of the changes that the job made, including deletions."""
    states = counts_by_state(counts)
    newest = counts.documents + counts.deleted
    made = job.accepted - job.unchanged + job.deleted
    return ChangesJson(
        indexed=newest - states["waiting"] - states["failed"],
        waiting=states["waiting"],
        failed=states["failed"],
        superseded=max(0, made - newest),
    )


def _state(job: Job, counts: StoreCounts) -> Literal["receiving", "waiting", "done"]:
    if not job.finished:
        return "receiving"
    return "waiting" if counts.waiting else "done"


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")

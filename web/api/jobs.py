"""What became of a delivery: its records when they came, its documents since."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from search.storage import DocumentStore, Job, State, StoreCounts

SHOWN_FAILURES: Final = 20


def job_as_json(job: Job, collection: str, store: DocumentStore, index: str) -> dict[str, Any]:
    """A job in the form of `JobAnswer`; `index` is the one that searches see."""
    counts = store.counts(index, job.id)
    failed = store.states(index, State.FAILED, SHOWN_FAILURES, job.id) if counts.states.get(State.FAILED) else []
    return {
        "job": job.id,
        "collection": collection,
        "started": _moment(job.started),
        "finished": _moment(job.finished) if job.finished else None,
        "broken": job.broken,
        "accepted": job.accepted - job.unchanged,
        "unchanged": job.unchanged,
        "stale": job.stale,
        "deleted": job.deleted,
        "rejected": job.rejected,
        "documents": _documents(job, counts),
        "failures": [{"id": item.id, "cause": item.cause} for item in failed],
        "state": _state(job, counts),
    }


def _documents(job: Job, counts: StoreCounts) -> dict[str, int]:
    """Where the changes stand that the job made, deletions among them."""
    failed = counts.states.get(State.FAILED, 0)
    standing = counts.documents + counts.deleted
    made = job.accepted - job.unchanged + job.deleted
    return {
        "indexed": standing - counts.waiting - failed,
        "waiting": counts.waiting,
        "failed": failed,
        "superseded": max(0, made - standing),
    }


def _state(job: Job, counts: StoreCounts) -> str:
    if not job.finished:
        return "receiving"
    return "waiting" if counts.waiting else "done"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")

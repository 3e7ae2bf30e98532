"""The HTTP routes that write: `POST /v1/documents`, `DELETE /v1/documents/<id>`, and `GET /v1/jobs/<id>` for progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Final

from flask import Blueprint, jsonify, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import Deletion
from mappings.errors import Conflict, MedleyError, NotFound
from mappings.formats.jsonl import source_version_of
from web import context, forms
from web.api import record_stream
from web.api.ingestion_answers import DeletionAnswer, FeedAnswer
from web.api.job_progress import job_answer
from web.api.record_batches import Intake
from web.delivery.delivery_limits import DeliveryLimits, RequestWatch
from web.delivery.spooled import spool, streamed
from web.errors import MediaTypeError
from web.use_cases import RecordedDelivery, check_not_invented, published_index, record_status

TYPES: Final = ("application/x-ndjson", "application/jsonl")
_DIGITS: Final = 30

blueprint = Blueprint("feeding", __name__, url_prefix="/v1")  # the name is part of the `endpoint` label in `/metrics`
blueprint.before_request(context.require_caller)


@blueprint.post("/documents")
def feed() -> Response:
    """Accept documents and deletions, one JSON object per line; the answer has one line for each, then a summary."""
    watch = RequestWatch(request.environ.get("gunicorn.socket"))
    body = record_stream.body_of(request.environ, request.content_length, watch.check_shutdown)
    try:
        collection, packed = _admitted()
        settings = context.portal().medley.settings
        limits = DeliveryLimits(settings.delivery_bytes, settings.delivery_lines)
        with context.upload_turn():
            return _fed(collection, limits.apply(record_stream.unpacked(body, packed, watch.check)))
    except MedleyError:
        record_stream.hurry(request.environ)
        record_stream.discard(body)
        raise


def _admitted() -> tuple[Collection, bool]:
    """The collection, after checking that the caller can write into it now, and whether the body is declared as gzip."""
    name, use_cases = forms.feed_form(request.args).collection, context.use_cases()
    with use_cases.audited("feed", name, only_errors=True):
        found = use_cases.writable(name)
        check_not_invented(found)
        packed = _check_type()
        context.portal().backlog.check(name)
    return found, packed


def _check_type() -> bool:
    if request.mimetype not in TYPES:
        raise MediaTypeError(
            f"send documents as one JSON object per line, with 'Content-Type: {TYPES[0]}'", field="Content-Type"
        )
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise MediaTypeError(f"the body can be compressed with gzip, not {coding[:40]!r}", field="Content-Encoding")
    return coding == "gzip"


def _fed(collection: Collection, body: Iterator[bytes]) -> Response:
    """Accept the records of the body.

    The outcomes are buffered until the whole body has been read, because most clients start reading only then.
    """
    name, portal = collection.name, context.portal()
    with ExitStack() as aside:
        notes = spool(aside)
        with context.use_cases().delivery(name) as delivery:
            intake = Intake(delivery, partial(portal.backlog.check, name), notes)
            intake.accept(record_stream.batches(record_stream.records(body, collection)))
        notes.write(_summary(intake, delivery).model_dump_json().encode() + b"\n")
        return streamed(notes, aside.pop_all(), TYPES[0])


def _summary(intake: Intake, delivery: RecordedDelivery) -> FeedAnswer:
    retry_after = intake.refusal.retry_after if intake.refusal else None
    return FeedAnswer(
        job=delivery.job.id,
        **delivery.counts,
        queued=delivery.is_queued,
        retry_after=retry_after,
        outcomes_omitted=intake.omitted,
        rejections_omitted=intake.omitted_rejections,
        dropped_fields=delivery.dropped,
    )


@blueprint.delete("/documents/<anything:identifier>")
def delete(identifier: str) -> Response:
    """Delete a document, whether or not the caller can see it. A full backlog does not prevent deletions."""
    form, use_cases = forms.deletion_form(request.args), context.use_cases()
    with use_cases.audited("delete", form.collection, {"id": identifier[: record_stream.MAX_SHOWN_ID]}) as asked:
        name = use_cases.writable(form.collection).name
        deletion = Deletion(identifier, _source_version(form.source_version))
        delivery, (done,) = use_cases.delete(name, [deletion])
        asked["job"] = delivery.job.id
        status = record_status(deletion, done)
        if status == "unknown":
            raise NotFound(f"there is no document {identifier[:200]!r} in {name!r}", field="id")
        if status == "stale":
            raise Conflict(
                f"{identifier[:200]!r} is newer than this source version, so it was not deleted", field="source_version"
            )
    answer = DeletionAnswer(
        id=done.id, status="deleted", version=done.version, job=delivery.job.id, queued=delivery.queued
    )
    return jsonify(answer.model_dump())


def _source_version(text: str | None) -> int | None:
    whole = text is not None and text.removeprefix("-").isdecimal() and text.isascii() and len(text) < _DIGITS
    return source_version_of({"source_version": int(text) if whole and text else text})


@blueprint.get("/jobs/<identifier>")
def job(identifier: str) -> Response:
    """The progress of a delivery, for callers who can write into its collection."""
    collection, found = context.use_cases().job(identifier)
    medley = context.portal().medley
    answer = job_answer(found, collection, medley.collections.store(collection), published_index(medley, collection))
    return jsonify(answer.model_dump())

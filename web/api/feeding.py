"""The door by which documents come in: posted line by line, deleted by id, and how far a delivery has come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

import orjson
from flask import Blueprint, jsonify, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import Deletion
from mappings.errors import Conflict, MedleyError, NotFound
from mappings.formats.jsonl import source_version_of
from web import context, forms
from web.access import auth
from web.api import upload
from web.api.intake import Intake, outcome_of
from web.api.jobs import job_as_json
from web.backlog import published
from web.errors import MediaTypeError
from workers.delivery import Delivery

TYPES: Final = ("application/x-ndjson", "application/jsonl")
_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16
_DIGITS: Final = 30

blueprint = Blueprint("feeding", __name__, url_prefix="/v1")
blueprint.before_request(auth.require_caller)


@blueprint.post("/documents")
def feed() -> Response:
    """Take documents and deletions, one JSON object a line; the answer has a line for each, and one for all."""
    body = upload.body_of(request.environ, request.content_length)
    try:
        collection, packed = _admitted()
        return _fed(collection, upload.unpacked(body, packed))
    except MedleyError:
        upload.discard(body)
        raise


def _admitted() -> tuple[Collection, bool]:
    """The collection that the caller may write into now, and whether the body is said to be packed."""
    name = forms.feed_form(request.args).collection
    with _audited("feed", name, only_refusals=True):
        found = writable(name)
        packed = _check_type()
        context.portal().backlog.check(name)
    return found, packed


def _check_type() -> bool:
    if request.mimetype not in TYPES:
        raise MediaTypeError(
            f"documents are sent one JSON object a line, as 'Content-Type: {TYPES[0]}'", field="Content-Type"
        )
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise MediaTypeError(f"the body may be packed as gzip, not as {coding[:40]!r}", field="Content-Encoding")
    return coding == "gzip"


def _fed(collection: Collection, body: Iterator[bytes]) -> Response:
    """Take what is in the body. The outcomes are kept aside and told once it was read, as most senders only listen then."""
    name, delivery = collection.name, _delivery(collection.name)
    _write_down("feed", name, {"job": delivery.job.id})  # a request that is killed in the middle has written, too
    with ExitStack() as aside:
        notes = aside.enter_context(SpooledTemporaryFile(_IN_MEMORY, dir=str(context.portal().home)))
        intake = Intake(delivery, partial(context.portal().backlog.check, name), notes)
        with _audited("fed", name) as asked:
            try:
                intake.take(upload.batches(upload.records(body, collection)))
            finally:
                asked |= {"job": delivery.job.id, **intake.counts}
        notes.write(orjson.dumps(_summary(intake, delivery)) + b"\n")
        return _streamed(notes, aside.pop_all())


def _summary(intake: Intake, delivery: Delivery) -> dict[str, Any]:
    retry_after = intake.overloaded.retry_after if intake.overloaded else None
    return {"job": delivery.job.id, **intake.counts, "queued": delivery.queued, "retry_after": retry_after}


def _streamed(notes: IO[bytes], aside: ExitStack) -> Response:
    length = notes.tell()
    notes.seek(0)
    answer = Response(_read_out(notes, aside), mimetype=TYPES[0])
    answer.content_length = length
    answer.call_on_close(aside.close)  # for a sender who does not wait for the end
    return answer


def _read_out(notes: IO[bytes], aside: ExitStack) -> Iterator[bytes]:
    with aside:
        yield from iter(lambda: notes.read(_PIECE), b"")


@blueprint.delete("/documents/<anything:identifier>")
def delete(identifier: str) -> Response:
    """Delete a document, whether the caller may see it or not. Never refused for what waits: a deletion can't wait."""
    form = forms.deletion_form(request.args)
    with _audited("delete", form.collection, id=identifier[: upload.MAX_SHOWN_ID]) as asked:
        name = writable(form.collection).name
        deletion = Deletion(identifier, _source_version(form.source_version))
        delivery = _delivery(name)
        (done,) = delivery.accept([deletion])
        asked["job"] = delivery.finish().id
        outcome = outcome_of(deletion, done)
        if outcome["status"] == "unknown":
            raise NotFound(f"there is no document {identifier[:200]!r} in {name!r}", field="id")
        if outcome["status"] == "stale":
            raise Conflict(f"{identifier[:200]!r} is newer than this source version: it stays", field="source_version")
    return jsonify({**outcome, "job": delivery.job.id, "queued": delivery.queued})


def _source_version(text: str | None) -> int | None:
    whole = text is not None and text.removeprefix("-").isdecimal() and text.isascii() and len(text) < _DIGITS
    return source_version_of({"source_version": int(text) if whole and text else text})


@blueprint.get("/jobs/<identifier>")
def job(identifier: str) -> Response:
    """How far a delivery has come, for those who may write into its collection."""
    name = identifier.rpartition(".")[0]
    auth.check_writer(name)
    medley = context.portal().medley
    store = medley.collections.store(name) if name in medley.collections.names() else None
    found = store.job(identifier) if store else None
    if store is None or found is None:
        raise NotFound(f"there is no job {identifier[:100]!r}", field="job")
    return jsonify(job_as_json(found, name, store, published(medley, name)))


def writable(name: str) -> Collection:
    """The collection of this name. Raises `Forbidden` for a caller who may not write there, `NotFound`."""
    auth.check_writer(name)
    return context.portal().medley.collections.get(name)


def _delivery(name: str) -> Delivery:
    portal = context.portal()
    return Delivery(portal.medley.collections.store(name), name, portal.queue, context.request_id())


@contextmanager
def _audited(action: str, name: str, only_refusals: bool = False, id: str = "") -> Iterator[dict[str, Any]]:  # noqa: A002
    """Write down who did what to which collection, also where it is refused or fails; what was done goes into the dict."""
    asked: dict[str, Any] = {"id": id} if id else {}
    try:
        yield asked
    except MedleyError as error:
        _write_down(action, name, asked, error.status)
        raise
    if not only_refusals:
        _write_down(action, name, asked)


def _write_down(action: str, name: str, asked: dict[str, Any], status: int = 200) -> None:
    context.log(context.audit(action, name[:100], asked, [], status))

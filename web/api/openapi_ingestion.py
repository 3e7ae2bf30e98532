"""The part of the OpenAPI description that covers writing documents."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from web import forms
from web.api import ingestion_answers
from web.api.record_batches import LISTED_OUTCOMES, LISTED_REJECTIONS

ANSWERED: Final = (
    ingestion_answers.RecordOutcome,
    ingestion_answers.FeedAnswer,
    ingestion_answers.DeletionAnswer,
    ingestion_answers.JobAnswer,
)
_READ: Final = (400, 401, 403, 404, 429, 500, 503)
_RECORDS: Final = (
    'One JSON object per line: a document in our own schema, or `{"id": …, "deleted": true}`; can be compressed with '
    "gzip. The body is read as it arrives. One that exceeds the portal's limits (by default 2 GB once decompressed, or "
    "1,000,000 lines) gets a 413; the records before the limit stay. The answer has a `RecordOutcome` for each record, in "
    f"order, and a `FeedAnswer` as its last line. Of the outcomes it lists the first {LISTED_OUTCOMES:,} of records that "
    f"were not rejected and the first {LISTED_REJECTIONS:,} of rejected ones."
)
_JOB: Final = r"^[a-z0-9][a-z0-9_-]{0,62}\.[0-9a-f]{16}$"
_DELETED: Final = "With `source_version`, a deletion that is older than the document is rejected as a conflict."


def feed() -> dict[str, Any]:
    """`POST /v1/documents`."""
    lines = {kind: {"schema": {"type": "string"}} for kind in ("application/x-ndjson", "application/jsonl")}
    answer = {"application/x-ndjson": {"schema": {"type": "string"}}}
    made = _operation("feed", "Add, replace and delete documents", answer, (*_READ, 413, 415))
    body = {"requestBody": {"required": True, "description": _RECORDS, "content": lines}}
    return made | body | {"description": _RECORDS, "parameters": _parameters(forms.FeedForm)}


def delete() -> dict[str, Any]:
    """`DELETE /v1/documents/{id}`."""
    made = _operation("delete", "Delete a document", _json(ingestion_answers.DeletionAnswer), (*_READ, 409))
    return made | {"description": _DELETED, "parameters": [_in_path("id"), *_parameters(forms.DeletionForm)]}


def job() -> dict[str, Any]:
    """`GET /v1/jobs/{identifier}`."""
    made = _operation("job", "The progress of a delivery", _json(ingestion_answers.JobAnswer), _READ)
    return made | {"parameters": [_in_path("identifier", {"pattern": _JOB})]}


def _operation(name: str, summary: str, content: dict[str, Any], statuses: tuple[int, ...]) -> dict[str, Any]:
    errors = {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": content}, **errors},
    }


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _in_path(name: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"} | (schema or {})}


def _parameters(form: type[BaseModel]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": field.is_required(), "schema": {"type": "string"}}
        for name, field in form.model_fields.items()
    ]

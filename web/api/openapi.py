"""The API description, OpenAPI 3.1, from the models that validate requests and serialise answers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from web import completions, forms, search_answers, wire
from web.api import openapi_ingestion
from web.api.kept import openapi as openapi_kept
from web.cohorts import answers as cohort_answers
from web.cohorts import forms as cohort_forms
from web.exports.formats import EXPORTS
from web.statuses import CODES

REFERENCE: Final = "#/components/schemas/{model}"
_REQUESTS: Final = (
    forms.SearchForm,
    forms.BatchForm,
    forms.StanceForm,
    completions.CompletionForm,
    *openapi_kept.REQUESTED,
    cohort_forms.CohortPageForm,
    cohort_forms.CohortComparisonForm,
    cohort_forms.CohortExportForm,
)
_ANSWERS: Final = (
    search_answers.SearchAnswer,
    search_answers.BatchAnswer,
    search_answers.StanceAnswer,
    completions.CompletionAnswer,
    cohort_answers.CohortAnswer,
    cohort_answers.ComparisonAnswer,
    wire.DocumentAnswer,
    wire.CollectionsAnswer,
    wire.ErrorAnswer,
    *openapi_ingestion.ANSWERED,
    *openapi_kept.ANSWERED,
)
_MEANINGS: Final = {
    400: "the request is wrong; `field` names where",
    401: "no token, or an invalid one",
    403: "the caller is known and may not do this, such as use the cursor of another caller",
    404: "there is no such thing that the caller can see",
    409: "the request does not fit the current state, such as a deletion older than the document",
    413: "the body is too large",
    415: "the body is of a type that this address does not read",
    429: (
        "too many searches or uploads at once, too many changes to be indexed, or too many wrong tokens from this address; "
        "`Retry-After` says when to try again"
    ),
    500: "an error of the server; its log has the details under the id of the request",
    503: "a dependency is unavailable, or the access log cannot be written",
}
_ALWAYS: Final = frozenset({400, 401, 403, 404, 429, 500, 503})
_FILTERS: Final = (
    "Each filter is a parameter `filter.<field>`: a value, repeated for several, or for numbers and dates a range such as "
    "`2015..2020`, `2015..` or `..2020`. Lists are separated by commas or repeated."
)
_CITATION_TYPES: Final = ("application/x-research-info-systems", "application/x-bibtex", "text/csv")


@cache
def description() -> dict[str, Any]:
    """The whole description, as a JSON value."""
    models: list[Any] = [
        *((model, "validation") for model in _REQUESTS),
        *((model, "serialization") for model in _ANSWERS),
    ]
    _, schemas = models_json_schema(models, by_alias=True, ref_template=REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Medley",
            "version": "1",
            "summary": "Hybrid medical search",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}, {}],
        "paths": _paths(),
        "components": {
            "schemas": schemas["$defs"],
            "responses": {str(status): _error(status) for status in _MEANINGS},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "a token from `medley tokens add`"}
            },
        },
    }


def _paths() -> dict[str, Any]:
    return {
        "/v1/search": {
            "get": _operation(
                "search_by_address",
                "Search with the parameters of the address",
                search_answers.SearchAnswer,
                parameters=_search_parameters(),
                files=_CITATION_TYPES,
            )
            | {"description": _FILTERS},
            "post": _operation("search", "Search", search_answers.SearchAnswer, body=forms.SearchForm),
        },
        "/v1/search/batch": {
            "post": _operation(
                "search_batch", "Several searches at once", search_answers.BatchAnswer, body=forms.BatchForm
            )
        },
        "/v1/stance": {"post": _stance()},
        **_completion_paths(),
        **_cohort_paths(),
        "/v1/documents": {"post": openapi_ingestion.feed()},
        "/v1/documents/{id}": {
            "get": _operation(
                "document",
                "A document, or its citation",
                wire.DocumentAnswer,
                parameters=_document_parameters(),
                files=_CITATION_TYPES,
            ),
            "delete": openapi_ingestion.delete(),
        },
        "/v1/jobs/{identifier}": {"get": openapi_ingestion.job()},
        "/v1/collections": {"get": _operation("collections", "The collections", wire.CollectionsAnswer)},
        **openapi_kept.paths(),
        "/healthz": {"get": _status("healthz", "Whether the process answers", (200,))},
        "/readyz": {"get": _status("readyz", "Whether indexes are open and models are loaded", (200, 503))},
    }


def _stance() -> dict[str, Any]:
    summary = "What a document says of a claim"
    return _operation("stance", summary, search_answers.StanceAnswer, body=forms.StanceForm)


def _cohort_paths() -> dict[str, Any]:
    page, comparison = cohort_answers.CohortAnswer, cohort_answers.ComparisonAnswer
    patients = _operation("cohort", "The patients of a cohort", page, body=cohort_forms.CohortPageForm)
    compared = _operation("compare", "Two cohorts compared", comparison, body=cohort_forms.CohortComparisonForm)
    kinds = dict.fromkeys(item.media_type for item in EXPORTS.values())
    exported = _operation("export", "A cohort as a file", None, body=cohort_forms.CohortExportForm, files=kinds)
    return {
        "/v1/cohorts": {"post": patients},
        "/v1/cohorts/compare": {"post": compared},
        "/v1/cohorts/export": {"post": exported},
    }


def _completion_paths() -> dict[str, Any]:
    return {
        "/v1/complete": {
            "get": _operation(
                "complete_by_address",
                "Complete what is typed in the address",
                completions.CompletionAnswer,
                parameters=_parameters(completions.CompletionForm),
            )
            | {"description": "Addresses are kept in logs and histories: send what may be a patient's name by `POST`."},
            "post": _operation(
                "complete", "Complete what is typed", completions.CompletionAnswer, body=completions.CompletionForm
            ),
        },
    }


def _operation(
    name: str,
    summary: str,
    answer: type[BaseModel] | None,
    *,
    body: type[BaseModel] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    files: Iterable[str] = (),
) -> dict[str, Any]:
    further = (413, 415) if body else ()
    statuses = [status for status in _MEANINGS if status in _ALWAYS or status in further]
    content: dict[str, Any] = {"application/json": {"schema": _ref(answer)}} if answer else {}
    content |= {kind: {"schema": {"type": "object" if kind.endswith("json") else "string"}} for kind in files}
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": content},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses},
        },
    }
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(body)}}}
    return operation | ({"parameters": parameters} if parameters else {})


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}


def _error(status: int) -> dict[str, Any]:
    error = wire.ErrorDetail(code=CODES[status], message=_MEANINGS[status], field=None)
    example = wire.ErrorAnswer(error=error).model_dump()
    return {
        "description": _MEANINGS[status],
        "content": {"application/json": {"schema": _ref(wire.ErrorAnswer), "example": example}},
    }


def _search_parameters() -> list[dict[str, Any]]:
    """The fields of a search as parameters; `filter.<field>` has no fixed name and is described in words."""
    return [*(item for item in _parameters(forms.SearchForm) if item["name"] != "filters"), _format_parameter()]


def _parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """The fields of a form as parameters of an address."""
    schema = model.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _flat(field)}
        for name, field in schema["properties"].items()
    ]


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of one parameter: an address cannot hold null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default", "examples")}
    return kept | (choices[0] if choices else {})


def _document_parameters() -> list[dict[str, Any]]:
    identifier = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": "slashes are not escaped",
    }
    collection = {"name": "collection", "in": "query", "required": True, "schema": {"type": "string"}}
    return [identifier, collection, _format_parameter()]


def _format_parameter() -> dict[str, Any]:
    return {
        "name": "format",
        "in": "query",
        "required": False,
        "schema": {"type": "string", "enum": list(forms.FORMATS), "default": "json"},
    }


def _status(name: str, summary: str, statuses: tuple[int, ...]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    content = {"application/json": {"schema": schema}}
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {str(status): {"description": summary, "content": content} for status in statuses},
    }

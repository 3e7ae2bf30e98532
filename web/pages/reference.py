"""The reference of the HTTP API as a page, made from its description: it needs no script and no other server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import Blueprint, make_response, render_template, request
from flask.wrappers import Response

from web import context

_AREAS: Final = (
    ("Search", ("/v1/search", "/v1/stance", "/v1/complete", "/v1/collections")),
    ("Documents", ("/v1/documents", "/v1/jobs")),
    ("Cohorts", ("/v1/cohorts",)),
    ("What users keep", ("/v1/kept",)),
    ("Operation", ("/",)),
)
"""Title → how the addresses begin that belong there; the first that fits."""
_VALUES: Final = {"collection": "abstracts", "text": "aspirin", "id": "ID", "slot": "text"}
_COHORT: Final = {"collection": "notes", "all": ["pneumonia"], "none": ["effusion"]}
_BUNDLE: Final = {"kind": "bundle", "name": "anticoagulants", "content": {"terms": ["warfarin", "apixaban"]}}
_BODIES: Final[Mapping[str, Any]] = {
    "search": {"collection": "abstracts", "text": "Aspirin prevents strokes", "size": 5},
    "search_batch": {"searches": [{"collection": "abstracts", "text": text} for text in ("aspirin", "statins")]},
    "stance": {"collection": "abstracts", "document": "ID", "text": "Aspirin prevents strokes"},
    "complete": {"collection": "notes", "text": "pneum"},
    "cohort": _COHORT,
    "compare": {"a": _COHORT, "b": {"collection": "notes", "all": ["pneumonia"]}},
    "export": {**_COHORT, "format": "csv"},
    "feed": {"id": "my/1", "title": "Aspirin and strokes", "text": "Aspirin prevented strokes."},
    "kept_add": _BUNDLE,
    "kept_replace": {**_BUNDLE, "revision": 1},
}
"""Bodies that work on collections named abstracts and notes, by operation."""
_METHODS: Final = ("get", "post", "put", "delete")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field of a request or an answer, or a parameter; `model` is the shape it has, if that is described on the page."""

    name: str
    type: str
    required: bool
    words: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class OperationView:
    """One method of one address. `body` and `answer` name shapes; `types` are what else it answers with."""

    id: str
    method: str
    path: str
    summary: str
    words: str
    parameters: Sequence[FieldRow]
    body: str
    answer: str
    types: Sequence[str]
    example: str


@dataclass(frozen=True, slots=True)
class ShapeView:
    """The fields of a JSON object."""

    name: str
    title: str
    words: str
    fields: Sequence[FieldRow]


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """The operations by area, the shapes of their JSON, and what each status means."""

    areas: Sequence[tuple[str, Sequence[OperationView]]]
    shapes: Sequence[ShapeView]
    statuses: Sequence[tuple[str, str]]


def reference_blueprint(description: Callable[[], Mapping[str, Any]]) -> Blueprint:
    """The page at `/api`, of the API that `description` describes as OpenAPI 3.1 does."""
    blueprint = Blueprint("reference", __name__)
    blueprint.before_request(context.require_caller)

    def show() -> Response:
        page = reference_page(description(), request.host_url.rstrip("/"))
        return make_response(render_template("reference.html", page=page))

    blueprint.add_url_rule("/api", "show", show)
    return blueprint


def reference_page(whole: Mapping[str, Any], address: str) -> ReferencePage:
    """The page of a description; `address` is that of the server, for the examples."""
    operations = list(_operations(whole, address))
    areas = {title: [item for item in operations if _area(item.path) == title] for title, _ in _AREAS}
    schemas: Mapping[str, Any] = whole["components"]["schemas"]
    shapes = [
        ShapeView(name, item.get("title", name), item.get("description", ""), _fields(item))
        for name, item in schemas.items()
    ]
    statuses = [(status, item["description"]) for status, item in whole["components"]["responses"].items()]
    return ReferencePage(list(areas.items()), sorted(shapes, key=lambda item: item.title), statuses)


def _area(path: str) -> str:
    return next(title for title, starts in _AREAS if path.startswith(starts))


def _operations(whole: Mapping[str, Any], address: str) -> Iterator[OperationView]:
    for path, methods in whole["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield _operation(path, method, methods[method], address)


def _operation(path: str, method: str, found: Mapping[str, Any], address: str) -> OperationView:
    body = found.get("requestBody", {}).get("content", {})
    answered: Mapping[str, Any] = next(
        (item.get("content", {}) for status, item in found["responses"].items() if status.startswith("2")), {}
    )
    model = _model(body.get("application/json", {}).get("schema", {}))
    return OperationView(
        id=found["operationId"],
        method=method.upper(),
        path=path,
        summary=found["summary"],
        words=found.get("description", ""),
        parameters=[
            FieldRow(item["name"], _type(item["schema"]), item["required"], _words(item))
            for item in found.get("parameters", ())
        ],
        body=model,
        answer=_model(answered.get("application/json", {}).get("schema", {})),
        types=[kind for kind in answered if kind != "application/json"],
        example=_example(path, method, found, address),
    )


def _words(parameter: Mapping[str, Any]) -> str:
    return str(parameter.get("description") or parameter["schema"].get("description", ""))


def _fields(schema: Mapping[str, Any]) -> list[FieldRow]:
    required = schema.get("required", ())
    return [
        FieldRow(name, _type(item), name in required, str(item.get("description", "")), _model(item))
        for name, item in schema.get("properties", {}).items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(item) for item in schema.get("enum", [schema.get("const")]))
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any value"))


def _model(schema: Mapping[str, Any]) -> str:
    """The shape that a schema is, has as items or allows; "" for none."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
    return next((name for item in inner if isinstance(item, dict) and (name := _model(item))), "")


def _example(path: str, method: str, found: Mapping[str, Any], address: str) -> str:
    """A command of curl that works on collections named abstracts and notes, once `ID` and `TOKEN` are filled in."""
    asked = [item["name"] for item in found.get("parameters", ()) if item["in"] == "query"]
    needed = {item["name"] for item in found.get("parameters", ()) if item["required"]}
    query = "&".join(f"{name}={_VALUES.get(name, name.upper())}" for name in asked if name in needed or name == "text")
    for name in ("id", "identifier"):
        path = path.replace(f"{{{name}}}", _VALUES["id"])
    first = "curl" if method == "get" else f"curl -X {method.upper()}"
    parts = [f"{first} '{address}{path}{f'?{query}' if query else ''}'", "-H 'Authorization: Bearer TOKEN'"]
    kind = next(iter(found.get("requestBody", {}).get("content", {})), "")
    if kind:
        parts += [f"-H 'Content-Type: {kind}'", f"-d '{json.dumps(_BODIES[found['operationId']])}'"]
    return " \\\n  ".join(parts)

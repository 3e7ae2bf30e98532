"""The part of the OpenAPI description that covers what users keep."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from web.kept import shapes

REQUESTED: Final = (shapes.KeptForm, shapes.KeptChangeForm)
ANSWERED: Final = (shapes.KeptAnswer, shapes.KeptListAnswer, shapes.KeptDeletionAnswer)
_READ: Final = (400, 401, 403, 404, 429, 500, 503)
_WRITTEN: Final = (*_READ, 409, 413, 415)
_ID: Final = "^[0-9a-f]{16}$"
_SESSIONS: Final = "A browser session can send it with the form token of its pages in the header `X-CSRF-Token`; a program sends a token."


def paths() -> dict[str, Any]:
    """The paths of kept items."""
    listing = _operation("kept_list", "What the caller keeps, and what is shared with them", 200, shapes.KeptListAnswer)
    return {
        "/v1/kept": {
            "get": listing | {"parameters": _in_query(shapes.KeptListForm)},
            "post": _operation("kept_add", "Keep an item", 201, shapes.KeptAnswer, _WRITTEN)
            | _body(shapes.KeptForm)
            | {"description": _SESSIONS},
        },
        "/v1/kept/{identifier}": {
            "get": _operation("kept_read", "A kept item", 200, shapes.KeptAnswer) | {"parameters": [_identifier()]},
            "put": _operation("kept_replace", "Replace a kept item", 200, shapes.KeptAnswer, _WRITTEN)
            | _body(shapes.KeptChangeForm)
            | {"parameters": [_identifier()], "description": _SESSIONS},
            "delete": _operation("kept_delete", "Delete a kept item", 200, shapes.KeptDeletionAnswer, (*_READ, 409))
            | {"parameters": [_identifier(), *_in_query(shapes.KeptDeletionForm)], "description": _SESSIONS},
        },
    }


def _operation(
    name: str, summary: str, status: int, answer: type[BaseModel], errors: tuple[int, ...] = _READ
) -> dict[str, Any]:
    content = {"application/json": {"schema": _ref(answer)}}
    described = {str(code): {"$ref": f"#/components/responses/{code}"} for code in sorted(errors)}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {str(status): {"description": summary, "content": content}, **described},
    }


def _body(model: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(model)}}}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _identifier() -> dict[str, Any]:
    return {"name": "identifier", "in": "path", "required": True, "schema": {"type": "string", "pattern": _ID}}


def _in_query(model: type[BaseModel]) -> list[dict[str, Any]]:
    properties = model.model_json_schema()["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": _flat(it)} for name, it in properties.items()]


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of one parameter: an address cannot hold null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default", "title")}
    return kept | (choices[0] if choices else {})

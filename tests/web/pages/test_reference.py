"""The page of the API: everything that is described is on it, and its examples work."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from web.api.openapi import description
from web.pages.reference import reference_page

ADDRESS = "http://medley.test"
PAGE = reference_page(description(), ADDRESS)
OPERATIONS = [item for _, operations in PAGE.areas for item in operations]
PLAIN = [item for item in OPERATIONS if "ID" not in item.example]


def test_every_operation_and_shape_is_there_once() -> None:
    described = {(method.upper(), path) for path, methods in description()["paths"].items() for method in methods}
    assert sorted((item.method, item.path) for item in OPERATIONS) == sorted(described)
    names = [shape.name for shape in PAGE.shapes]
    assert sorted(names) == sorted(description()["components"]["schemas"])
    linked = {item.body for item in OPERATIONS} | {item.answer for item in OPERATIONS}
    linked |= {field.model for shape in PAGE.shapes for field in shape.fields}
    assert linked - {""} <= set(names)


def test_the_page_loads_nothing_from_elsewhere(client) -> None:
    response = client.get("/api")
    html = response.get_data(as_text=True)
    assert response.status_code == 200
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(ids)


@pytest.mark.parametrize("item", PLAIN, ids=[f"{item.method} {item.path}" for item in PLAIN])
def test_the_examples_work(client, item) -> None:
    parts = shlex.split(item.example.replace("\\\n", " "))  # a shell joins lines that end with a backslash
    assert parts.pop(0) == "curl"
    method, headers, body, address = "GET", {}, None, ""
    while parts:
        part = parts.pop(0)
        if part == "-X":
            method = parts.pop(0)
        elif part == "-H":
            name, _, value = parts.pop(0).partition(": ")
            headers[name] = value
        elif part == "-d":
            body = parts.pop(0)
            json.loads(body)
        else:
            address = part
    assert headers.pop("Authorization") == "Bearer TOKEN"
    response = client.open(address.removeprefix(ADDRESS), method=method, headers=headers, data=body)
    assert response.status_code in (200, 201, 202), response.get_data(as_text=True)[:500]


def test_a_page_needs_a_caller_once_there_are_tokens(client, token) -> None:
    token("ada", "public")
    assert client.get("/api").status_code == 303

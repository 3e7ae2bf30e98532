"""Medley over HTTP, as the product serves it: one connection to a gateway, without reranking, with the evidence of each hit.

Its `index` is a file that holds the address of the gateway, such as `127.0.0.1:8080`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

COLLECTION = "abstracts"
TYPE = {"Content-Type": "application/json"}


def open_search(folder: Path, _model: str) -> Callable[[str], tuple[list[str], dict[str, float]]]:
    """What answers a query with the ids of the ten best documents, best first. Raises `OSError` where it is refused."""
    connection = HTTPConnection(folder.read_text(encoding="utf-8"), timeout=60)

    def answer(query: str) -> tuple[list[str], dict[str, float]]:
        form = {"collection": COLLECTION, "text": query, "rerank": False}
        connection.request("POST", "/v1/search", json.dumps(form), TYPE)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            connection.close()
            raise OSError(f"the gateway answered {response.status}: {body[:300]!r}")
        found = json.loads(body)
        return [hit["document"] for hit in found["hits"]], found["timings_ms"]

    return answer

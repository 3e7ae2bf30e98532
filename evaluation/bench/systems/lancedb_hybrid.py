"""LanceDB's hybrid search: a table that embeds by itself, a full-text index, and reciprocal rank fusion, its default.

As its documentation says for so few rows, the vectors have no index: every query is compared with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

TOP = 10
TABLE = "documents"


def build(documents: Sequence[tuple[str, str]], folder: Path, model: str) -> None:
    """Index documents of (id, text) into `folder`."""
    import lancedb
    from lancedb.embeddings import get_registry
    from lancedb.pydantic import LanceModel, Vector

    embedder = get_registry().get("sentence-transformers").create(name=model)

    class DocumentRow(LanceModel):  # type: ignore[misc]
        id: str
        text: str = embedder.SourceField()
        vector: Vector(embedder.ndims()) = embedder.VectorField()  # type: ignore[valid-type]

    table = lancedb.connect(str(folder)).create_table(TABLE, schema=DocumentRow)
    table.add([{"id": identifier, "text": text} for identifier, text in documents])
    table.create_fts_index("text")


def open_search(folder: Path, model: str) -> Callable[[str], tuple[list[str], dict[str, float]]]:
    """What answers a query with the ids of the ten best documents, best first. The table names its model itself."""
    import lancedb

    table = lancedb.connect(str(folder)).open_table(TABLE)

    def answer(query: str) -> tuple[list[str], dict[str, float]]:
        return [row["id"] for row in table.search(query, query_type="hybrid").limit(TOP).to_list()], {}

    return answer

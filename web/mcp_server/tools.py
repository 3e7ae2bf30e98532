"""The tools that an assistant gets: search, read a stance, open a document, find a cohort. Each answers with a small JSON object.

Their docstrings are what the assistant reads, so they say what it must know and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from mappings.errors import MedleyError
from web.mcp_server.library import Library
from web.search_answers import HitJson
from web.wire import INVENTED

INSTRUCTIONS: Final = (
    "Medley searches collections of medical documents. It finds documents and the sentences in them that bear on a question; it "
    "never decides on the question. Cite a document by its title and id. What a document says, it says itself: quote it."
)
MOST_HITS: Final = 25
MOST_CHARACTERS: Final = 40_000
"""Characters of a document that are shown."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools over one library. Raises `ToolError`, whose message the assistant reads."""

    library: Library

    def list_collections(self) -> dict[str, Any]:
        """List the collections that can be searched, with the fields that filters can name."""
        with _plain_errors():
            found = self.library.collections()
        return {
            "collections": [
                {
                    "name": item.name,
                    "title": item.title,
                    "fields": {field.name: field.type for field in item.fields},
                    **({"note": INVENTED} if item.invented else {}),
                }
                for item in found
            ]
        }

    def search(
        self,
        text: str,
        collection: str,
        present: list[str] | None = None,
        absent: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        size: int = 10,
    ) -> dict[str, Any]:
        """Find documents for a question, a claim, a headline, or what a note must say.

        `present` and `absent` are findings that documents must, or must not, say are present, such as ["pneumonia"].
        `filters` maps a field to a value, a list of values, or bounds, such as {"year": {"gte": 2015}}. At most 25 hits.
        """
        fields = {"with": present or [], "without": absent or [], "filters": filters or {}}
        with _plain_errors():
            answer = self.library.search(text, collection, {**fields, "size": max(1, min(size, MOST_HITS))})
        return {
            "total": answer.total.model_dump(),
            "hits": [_hit(item) for item in answer.hits],
            "missing_from_this_answer": [*answer.degraded, *answer.partial],
            **({"words_no_document_has": answer.answerable.missing} if answer.answerable.missing else {}),
            **({"note": INVENTED} if answer.invented else {}),
        }

    def read_stance(self, claim: str, document: str, collection: str) -> dict[str, Any]:
        """Read what one document says of a claim: supports, refutes or neither, with the sentences that say so.

        The probability is that of the reading, not of the claim: quote the sentences, and decide nothing by it.
        """
        with _plain_errors():
            found = self.library.stance(claim, document, collection)
        return {
            "document": found.document,
            "stance": found.stance.label,
            "probability": round(found.stance.probability, 2),
            "sentences": [item.text for item in found.evidence],
            **({"note": INVENTED} if found.invented else {}),
        }

    def open_document(self, document: str, collection: str) -> dict[str, Any]:
        """Read a document by the id that a search gave."""
        with _plain_errors():
            found = self.library.document(document, collection)
        text = "\n\n".join(f"{item.heading}\n{item.text}".strip() for item in found.sections)
        return {
            "document": found.document,
            "title": found.title,
            "fields": found.fields,
            "text": text[:MOST_CHARACTERS],
            **({"note": f"cut after {MOST_CHARACTERS:,} characters"} if len(text) > MOST_CHARACTERS else {}),
            **({"invented": INVENTED} if found.invented else {}),
        }

    def find_cohort(self, definition: dict[str, Any], size: int = 20) -> dict[str, Any]:
        """Find the patients whose documents together meet a definition, with the sentences that prove it.

        A definition is {"collection": "notes", "all": ["pneumonia"], "any": [], "none": ["effusion"]}; a criterion is a
        finding, or an object with concept, assertion (present, ruled-out, family), words, filters, since and until.
        """
        with _plain_errors():
            page = self.library.cohort(definition, size=max(1, min(size, MOST_HITS)))
        return {
            "total": page.total,
            "patients": [item.model_dump() for item in page.patients],
            "notes": page.notes,
            "missing_from_this_answer": page.degraded,
        }


def _hit(item: HitJson) -> dict[str, Any]:
    shown = {
        "document": item.document,
        "title": item.title,
        "score": round(item.score, 3),
        "stance": item.stance.label if item.stance else "",
        "badges": item.badges,
        "fields": {name: value for name, value in item.fields.items() if name != "badges"},
        "evidence": [part.text for part in item.evidence],
        "proofs": [proof.text if proof else None for proof in item.proofs],
    }
    return {name: value for name, value in shown.items() if value not in ([], {}, "")}


def make_server(library: Library, version: str) -> MCPServer:
    """An MCP server with these tools."""
    server = MCPServer("medley", title="Medley", instructions=INSTRUCTIONS, version=version)
    tools = Tools(library)
    for tool in (tools.list_collections, tools.search, tools.read_stance, tools.open_document, tools.find_cohort):
        server.tool()(tool)
    return server


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Our errors as those of a tool, so that the assistant reads what is wrong and what would be right."""
    try:
        yield
    except MedleyError as error:
        raise ToolError(f"{error.message}{f' (field {error.field})' if error.field else ''}") from error

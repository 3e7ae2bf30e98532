"""An assistant's client speaks to `medley mcp` over its standard input and output, as assistants do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import pytest
from claims_home import claims_settings
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from portal_home import fill

ENVIRONMENT = {"MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("mcp"))


def talk(
    home: Path,
    *options: str,
    steps: Callable[[ClientSession], Coroutine[Any, Any, Any]],
    environment: Mapping[str, str] = ENVIRONMENT,
) -> Any:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "web.cli", "mcp", *options],
        env={"MEDLEY_HOME": str(home), "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", **environment},
    )

    async def run() -> Any:
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await steps(session)

    return anyio.run(run)


def call(
    home: Path,
    tool: str,
    arguments: dict[str, Any],
    *options: str,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> tuple[bool, Any]:
    async def steps(session: ClientSession) -> Any:
        return await session.call_tool(tool, arguments)

    found = talk(home, *options, steps=steps, environment={**ENVIRONMENT, **environment})
    text = found.content[0].text
    return bool(found.is_error), text if found.is_error else json.loads(text)


def test_the_tools_say_what_they_are_for(home: Path) -> None:
    async def steps(session: ClientSession) -> Any:
        return (await session.list_tools()).tools

    tools = {tool.name: tool for tool in talk(home, steps=steps)}
    assert list(tools) == ["list_collections", "search", "read_stance", "open_document", "find_cohort"]
    assert all(tool.description for tool in tools.values())
    assert tools["search"].input_schema["required"] == ["text", "collection"]


def test_a_search_and_the_document_it_found(home: Path) -> None:
    failed, answer = call(home, "search", {"text": "aspirin stroke", "collection": "abstracts", "size": 1})
    assert not failed
    (hit,) = answer["hits"]
    assert (hit["document"], hit["evidence"]) == ("pm/2", ["Results: Aspirin reduced stroke in adults."])
    failed, found = call(home, "open_document", {"document": "pm/2", "collection": "abstracts"})
    assert (failed, found["text"]) == (False, "Results\nAspirin reduced stroke in adults. Bleeding was more frequent.")


def test_labels_limit_what_is_seen(home: Path) -> None:
    asked = {"text": "embargoed statins trial", "collection": "abstracts"}
    everything, limited = (call(home, "search", asked, *options)[1] for options in ((), ("--label", "public")))
    assert "secret/1" in {hit["document"] for hit in everything["hits"]}
    assert "secret/1" not in {hit["document"] for hit in limited["hits"]}
    failed, text = call(home, "open_document", {"document": "secret/1", "collection": "abstracts"}, "--label", "public")
    assert failed
    assert "secret/1" in text


def test_a_cohort_has_its_sentences(home: Path) -> None:
    failed, answer = call(home, "find_cohort", {"definition": {"collection": "notes", "all": ["pneumonia"]}})
    assert not failed
    assert answer["total"] == len(answer["patients"]) >= 1


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search", {"text": "x", "collection": "nothing"}, "nothing"),
        ("search", {"text": "", "collection": "abstracts"}, "empty"),
        ("search", {"text": "x", "collection": "abstracts", "filters": {"colour": "red"}}, "colour"),
        ("open_document", {"document": "none", "collection": "abstracts"}, "none"),
        ("find_cohort", {"definition": {"collection": "notes", "colour": "red"}}, "colour"),
    ],
)
def test_an_error_is_told_in_plain_words(home: Path, tool: str, arguments: dict[str, Any], words: str) -> None:
    failed, text = call(home, tool, arguments)
    assert failed
    assert words in text
    assert "Traceback" not in text


def test_a_document_is_read_for_a_claim(tmp_path: Path) -> None:
    settings = claims_settings(tmp_path)
    read = {"MEDLEY_COLLECTIONS": str(settings.collections), "MEDLEY_MODELS": str(settings.models)}
    read["MEDLEY_STANCE"] = settings.stance
    asked = {"claim": "Aspirin reduces stroke", "document": "pm/2", "collection": "abstracts"}
    failed, answer = call(settings.home, "read_stance", asked, environment=read)
    assert not failed
    assert answer["document"] == "pm/2"
    assert answer["stance"] in ("supports", "refutes", "neither")
    assert set(answer["sentences"]) <= {"Results: Aspirin reduced stroke in adults.", "Bleeding was more frequent."}
    failed, text = call(settings.home, "read_stance", asked)
    assert failed
    assert "names no model that reads claims" in text

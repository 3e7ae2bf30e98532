"""The examples of docs/formats.md are read as the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mappings.collection import load
from mappings.documents import Document
from mappings.formats.registry import FORMATS, read

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
KINDS = {"jsonl": "abstracts", "medquad": "articles", "mtsamples": "notes"}


def sections() -> dict[str, str]:
    parts = re.split(r"^## `(\w+)`.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_format_has_its_part_on_the_page() -> None:
    assert set(sections()) == set(FORMATS)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "notes"])
def test_every_example_is_taken(name: str, tmp_path: Path) -> None:
    examples = re.findall(r"```json\n(.*?)```", sections()[name], flags=re.DOTALL)
    path = tmp_path / "examples.jsonl"
    path.write_text("\n".join(json.dumps(json.loads(example)) for example in examples), encoding="utf-8")
    found = list(read(path, name, load(KINDS.get(name, "abstracts"))))
    assert len(found) == len(examples) > 0
    assert all(isinstance(item, Document) for item in found)

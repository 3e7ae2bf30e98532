"""The examples of docs/user/formats.md are read as the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mappings.collection import load
from mappings.documents import Deletion, Document
from mappings.formats.registry import FORMATS, read

PAGE = Path(__file__).parents[2] / "docs" / "user" / "formats.md"
KINDS = dict.fromkeys(("mtsamples", "fhir", "noteevents"), "notes") | {
    "medquad": "articles",
    "medquad-xml": "articles",
    "openi": "reports",
}
FOUND = {"noteevents": ["17", "18"], "medline": ["900001", "900000"]}
DELETED = {"18", "900000", "10.1000/abc"}


def sections() -> dict[str, str]:
    parts = re.split(r"^## `([\w-]+)`.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_format_has_its_part_and_its_row_on_the_page() -> None:
    assert set(sections()) == set(FORMATS)
    rows = re.findall(r"^\| `([\w-]+)` \| one ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(FORMATS)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "notes"])
def test_every_example_is_taken(name: str, tmp_path: Path) -> None:
    examples = re.findall(r"```(?:json|xml|csv)\n(.*?)```", sections()[name], flags=re.DOTALL)
    path = tmp_path / "examples"
    text = [json.dumps(json.loads(example)) if example.startswith("{") else example for example in examples]
    path.write_text("\n".join(text), encoding="utf-8")
    found = list(read(path, name, load(KINDS.get(name, "abstracts"))))
    assert all(isinstance(item, Document | Deletion) for item in found)
    ids = [item.id for item in found if isinstance(item, Document | Deletion)]
    assert ids == FOUND[name] if name in FOUND else len(ids) == len(examples) > 0
    assert {item.id for item in found if isinstance(item, Deletion)} == DELETED & set(ids)

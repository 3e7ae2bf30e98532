"""The documentation tells the truth: links lead somewhere, commands and make targets exist."""

import re
import tomllib
from pathlib import Path

import pytest

from mappings.collection import Feedback, kinds, load
from web.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(
        r"(?:^|[`\s/])medley ([a-z]+)\b", "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    ):
        assert name in COMMANDS, f"{page.name} names `medley {name}`"
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for name in re.findall(r"`make ([a-z-]+)`", text):
        assert name in targets, f"{page.name} names `make {name}`"


def test_the_whole_kind_of_the_documentation_is_one(tmp_path):
    text = (ROOT / "docs/operator/collections.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "letters.toml").write_text(written, encoding="utf-8")
    kind = load("letters-2026", "letters", tmp_path)
    assert kind.feedback == Feedback(5, 0.6)
    assert kind.reranking.parts
    assert kind.reranking.first
    known = {section for name in kinds() for section in tomllib.loads(kinds()[name].read_text(encoding="utf-8"))}
    assert known | {"feedback", "opensearch"} == tomllib.loads(written).keys()


def test_no_page_carries_a_path_of_a_machine():
    for page in PAGES:
        assert not re.search(r"/(work|root|home/[a-z]+)/", page.read_text(encoding="utf-8")), page.name


def test_the_glossary_has_one_meaning_a_term_in_order():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    sections = [re.findall(r"^- \*\*(.+?)\*\*:", part, re.MULTILINE) for part in text.split("\n## ")[1:]]
    terms = [term for section in sections for term in section]
    assert 40 <= len(terms) <= 80
    assert len(set(terms)) == len(terms)
    for section in sections:
        assert section == sorted(section)

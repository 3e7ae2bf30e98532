"""The ledger of choices: complete for what is shipped, counted where it is told, and strict about its own form."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from encoders.artifact import SHIPPED
from evaluation.plan import _spell_collection
from evaluation.published.choices import FILE, choices_section, read_choices
from evaluation.suites.registry import SUITES
from mappings.collection import SHIPPED_KINDS, load
from mappings.errors import InvalidInput

ROOT = Path(__file__).parents[2]
COUNTED = ("README.md", "docs/results.md", "docs/ml/experiments.md")


def spell(value: Any) -> str:
    return ", ".join(f"{key} {part}" for key, part in value.items()) if isinstance(value, dict) else str(value)


def settings_of(kind: Path) -> Iterator[tuple[str, str]]:
    """(setting, value) of everything in a kind that decides a ranking and could be chosen by figures."""
    found = tomllib.loads(kind.read_text(encoding="utf-8"))
    yield from ((f"bm25.{name}", spell(value)) for name, value in found["bm25"].items())
    yield "passages.window_words", spell(found["passages"]["window_words"])
    if "marking" in found["passages"]:
        yield "passages.marking", spell(found["passages"]["marking"])
    fusion, reranking = found["fusion"], found["rerank"]
    yield "fusion", f"{fusion['method']} {fusion['normalisation']}, {spell(fusion['weights'])}"
    yield from ((f"rerank.{name}", spell(reranking[name])) for name in ("candidates", "weight"))
    if "parts" in reranking:
        yield "rerank.parts", spell(reranking["parts"])
    if "first" in reranking:
        first = reranking["first"]
        yield "rerank.first", f"{first['model']}, {spell({key: first[key] for key in ('keep', 'weight')})}"


def test_no_shipped_setting_changes_without_an_entry() -> None:
    shipped = {(path.stem, *pair) for path in SHIPPED_KINDS.glob("*.toml") for pair in settings_of(path)}
    entered = {(kind, item.setting, item.value) for item in read_choices().settings for kind in item.kinds}
    assert entered == shipped, "say in evaluation/published/choices.toml what the new value was chosen on"


def test_no_shipped_model_changes_without_an_entry() -> None:
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED.glob("*/model.json")]
    shipped = {(item["name"], item["fingerprint"][:12]) for item in manifests}
    assert {(item.name, item.fingerprint) for item in read_choices().models} == shipped


@pytest.mark.parametrize("page", COUNTED)
def test_the_number_of_choices_is_told_as_it_is(page: str) -> None:
    told = re.findall(r"(\d+) choices were made after figures of a suite", (ROOT / page).read_text(encoding="utf-8"))
    assert set(told) == {str(len(read_choices().choices))}


def test_every_choice_names_suites_and_a_page_that_exist() -> None:
    for item in read_choices().choices:
        assert set(item.suites) <= SUITES.keys()
        assert (ROOT / "docs" / item.page.partition("#")[0]).is_file()


def test_a_harder_form_of_a_suite_has_its_choices() -> None:
    ledger = read_choices()
    assert ledger.of_suite("scifact-distractors") == ledger.of_suite("scifact") != ()
    assert ledger.of_suite("medquad-full") == ledger.of_suite("medquad") != ()
    assert ledger.of_suite("beir") == ()


CHOICE = """[[choice]]
name = "a"
date = 2026-01-02
suites = ["scifact"]
chosen = "That."
page = "x.md"
"""
SETTING = """[[setting]]
kinds = ["abstracts"]
setting = "fusion"
value = "1"
chosen_on = "claims"
choice = "a"
"""


def test_the_section_counts_and_links(tmp_path: Path) -> None:
    file = tmp_path / "choices.toml"
    file.write_text(CHOICE + CHOICE.replace('"a"', '"b"') + SETTING)
    section = choices_section(read_choices(file))
    assert "2 choices were made after figures of a suite had been seen" in section
    assert (
        "| 1 | [a](x.md), 2026-01-02 | scifact | That. |\n| 2 | [b](x.md), 2026-01-02 | scifact | That. |\n" in section
    )
    assert "| abstracts | `fusion` | 1 | claims (choice 1) |" in section


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[choice]", "is not valid TOML"),
        ("[[chosen]]", "has no part 'chosen'"),
        (CHOICE.replace('page = "x.md"', ""), "an entry lacks 'page'"),
        (CHOICE + "why = 1", "an entry has an unknown key, 'why'"),
        (CHOICE.replace('["scifact"]', "[]"), "'suites' is empty"),
        (CHOICE * 2, "has the choice 'a' twice"),
        (SETTING, "fusion names the choice 'a', which it does not have"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "choices.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_choices(file)


def test_the_ledger_is_installed_with_the_package() -> None:
    assert f'"evaluation": ["published/{FILE.name}"' in (ROOT / "setup.py").read_text(encoding="utf-8")


def test_a_kind_without_other_names_keeps_the_reports_of_before_there_were_any() -> None:
    notes, abstracts = (_spell_collection(load(name)) for name in ("notes", "abstracts"))
    assert "name_weight" not in notes
    assert "name_weight=0.5" in abstracts

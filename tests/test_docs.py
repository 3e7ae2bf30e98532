"""The documentation tells the truth: links and anchors resolve; commands, options, settings and make targets exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mappings.collection import kinds, load
from mappings.stages import Feedback
from search.settings import describe
from web.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs/decisions").glob("0*.md"))
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def code(text: str) -> str:
    """The code blocks and the inline code of a page."""
    blocks = re.findall(r"```.*?```", text, re.DOTALL)
    return "\n".join(blocks + re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@each_page
def test_links_and_anchors_resolve(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}#{anchor}"


def test_the_start_page_leads_to_every_page() -> None:
    start = ROOT / "docs/README.md"
    linked = {(start.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", start.read_text())}
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in DECISIONS}
    assert pages - linked == {start}


def commands(text: str) -> Iterator[tuple[str, str]]:
    """(command, what follows it on its line) of every `medley …` in the code of a page."""
    for line in code(text).replace("\\\n", " ").splitlines():
        yield from re.findall(r"(?:^|[`\s/])medley ([a-z]+)\b((?:(?!\bmedley )[^`#|])*)", line)


def options(name: str) -> set[str]:
    """Every option of a command and of its subcommands."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    children = list(command.commands.values()) if isinstance(command, click.Group) else []
    return {
        option
        for one in (command, *children)
        for parameter in one.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help", "-h"}


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, rest in commands(text):
        assert name in COMMANDS, f"{page.name} names `medley {name}`"
        for option in re.findall(r"(?<!\S)(?:--[a-z][a-z-]*|-[a-z](?!\S))", rest):
            assert option in options(name), f"{page.name} names `medley {name} {option}`"


@each_page
def test_make_targets_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert name in targets, f"{page.name} names `make {name}`"


def test_every_setting_is_documented_and_every_documented_setting_exists() -> None:
    settings = {variable for variable, _, _ in describe()}
    table = (ROOT / "docs/operator/settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(MEDLEY_\w+)`", table, re.MULTILINE)) == settings
    elsewhere = "".join(
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("docker-compose.yml", "Makefile", "tests/conftest.py", "web/cli/commands/mcp.py")
    )
    for page in PAGES:
        for variable in set(re.findall(r"MEDLEY_[A-Z_]+", page.read_text(encoding="utf-8"))) - settings:
            assert variable in elsewhere, f"{page.name} names {variable}"


def test_the_whole_kind_of_the_documentation_is_one(tmp_path: Path) -> None:
    text = (ROOT / "docs/operator/collections.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "letters.toml").write_text(written, encoding="utf-8")
    kind = load("letters-2026", "letters", tmp_path)
    assert kind.feedback == Feedback(5, 0.6)
    assert kind.reranking.parts
    assert kind.reranking.first
    known = {section for name in kinds() for section in tomllib.loads(kinds()[name].read_text(encoding="utf-8"))}
    assert known | {"discourse", "feedback", "opensearch"} == tomllib.loads(written).keys()


def test_no_page_carries_a_path_of_a_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(work|root|home/[a-z]+)/", page.read_text(encoding="utf-8")), page.name


def test_the_glossary_has_one_meaning_a_term_in_order() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    sections = [re.findall(r"^- \*\*(.+?)\*\*:", part, re.MULTILINE) for part in text.split("\n## ")[1:]]
    terms = [term for section in sections for term in section]
    assert 40 <= len(terms) <= 90
    assert len(set(terms)) == len(terms)
    for section in sections:
        assert section == sorted(section)


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.name[:4])
def test_a_decision_has_date_status_context_and_consequences(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(rf"# {file.name[:4]}\. .+\n\nDate: \d{{4}}-\d\d-\d\d · Status: (accepted|superseded)", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Decision", "Context", "Consequences"]
    assert f"({file.name})" in (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")


TOP = "web|evaluation|workers|search|encoders|mappings|tests"


def is_module_or_name(dotted: str) -> bool:
    """Whether a dotted name is a package, a module, or something defined in one."""
    *parents, last = dotted.split(".")
    path = ROOT.joinpath(*parents)
    if (path / last).is_dir() or (path / f"{last}.py").is_file():
        return True
    module = path.with_suffix(".py")
    return (
        module.is_file() and re.search(rf"^(def|class) {last}\b", module.read_text("utf-8"), re.MULTILINE) is not None
    )


@each_page
def test_named_files_modules_and_functions_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in re.findall(rf"`((?:{TOP})/[\w/.-]*)", text):
        assert (ROOT / path).exists(), f"{page.name} names {path}"
    for name in re.findall(rf"`((?:{TOP})(?:\.\w+)+)", text):
        assert is_module_or_name(name), f"{page.name} names {name}"

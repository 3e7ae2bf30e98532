"""The page on cohorts shows what the demo answers."""

import json
import re
from pathlib import Path

from click.testing import CliRunner

from search.bootstrap import Medley
from search.settings import Settings
from web.cli.indexing import fill_quietly
from web.cli.main import cli
from web.demo_collections import demo_files, demo_name

PAGE = Path(__file__).parents[3] / "docs/user/cohorts.md"


def test_the_example_of_the_page_is_answered_as_it_says(tmp_path, monkeypatch):
    from mappings.formats.registry import read

    text = PAGE.read_text(encoding="utf-8")
    (definition,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (answer,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    name = demo_name("notes")
    medley = Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256"))
    collection = medley.collections.create(name, "notes", invented=True)
    medley.collections.store(name).put(list(read(demo_files()[name], "jsonl", collection)))
    fill_quietly(medley, name)
    monkeypatch.setenv("MEDLEY_HOME", str(tmp_path / "home"))
    assert json.loads(definition)["collection"] == name
    result = CliRunner().invoke(cli, ["cohort", "run", "-"], input=definition, catch_exceptions=False)
    assert result.stdout == answer

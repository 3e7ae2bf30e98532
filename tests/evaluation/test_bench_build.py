"""The bench of building: whole commands on a small file, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_bench_search import settings  # noqa: F401 - a fixture

from evaluation.bench import build
from evaluation.bench.shared import commands
from mappings.datasets.scifact import SentenceAbstract, read_corpus
from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings


@pytest.mark.slow
@pytest.mark.torch
def test_a_file_is_built_by_both_in_one_run(settings):  # noqa: F811
    for name in build.NEEDED:
        pytest.importorskip(name)
    report = build.bench_build(settings, documents=20)
    figures = report["figures"]
    assert (report["bench"], figures["documents"], report["machine"]["model"]) == ("build", 20.0, "hashing-256")
    assert figures["speed_ratio"] == pytest.approx(figures["plain_seconds"] / figures["seconds"], rel=0.01)
    assert 0 <= figures["seconds_to_first"] < figures["seconds"]
    assert figures["texts_per_document"] >= 1
    assert not settings.home.exists()  # the home is one of its own


def test_what_is_missing_is_named(settings, monkeypatch):  # noqa: F811
    monkeypatch.setattr(build, "NEEDED", ("json", "no_such_library"))
    with pytest.raises(Unavailable, match=r"needs no_such_library: pip install .*bench"):
        build.bench_build(settings)


def test_a_process_that_fails_says_why(tmp_path):
    with pytest.raises(Unavailable, match="the measured process failed: no such otter"):
        commands.run_ours(["-c", "import sys; sys.exit('no such otter')"], {}, tmp_path)


def test_a_process_that_is_killed_has_its_status_told(tmp_path):
    with pytest.raises(Unavailable, match="the measured process failed: exit status -9"):
        commands.run_ours(["-c", "import os; os.kill(os.getpid(), 9)"], {}, tmp_path)


def test_it_indexes_here_and_nowhere_else(tmp_path):
    asked = Settings(home=tmp_path / "used", opensearch="http://localhost:1", redis="redis://x", models=Path("models"))
    own = commands.own_settings(asked, tmp_path / "home", 3)
    assert (own.home, own.opensearch, own.redis, own.threads) == (tmp_path / "home", "", "", 3)
    assert own.models is not None
    assert own.models.is_absolute()


def test_the_abstracts_are_read_as_they_were_written(settings, tmp_path):  # noqa: F811
    from mappings.collection import load
    from mappings.formats.registry import read

    abstracts = list(read_corpus(settings.data))[:3]
    collection = load("abstracts", None)
    found = list(read(commands.write_abstracts(abstracts, tmp_path / "in.jsonl"), "scifact", collection))
    assert found == [item.document(collection) for item in abstracts]


def test_a_document_that_is_never_found_is_no_figure(tmp_path):
    watch = build._Watch(replace(Settings(), home=tmp_path), SentenceAbstract("1", "Otters", ()))
    watch.look()
    with pytest.raises(InvalidInput, match="not found by its title"):
        watch.seconds_to_first()

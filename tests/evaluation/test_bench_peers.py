"""The bench of other systems: whole on a sample where they are installed, and what it says where they are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_bench_search import settings, write  # noqa: F401 - a fixture

from evaluation.bench import peers
from evaluation.bench.shared import commands
from evaluation.bench.shared.servers import embedded_gateway
from evaluation.bench.systems import measure
from evaluation.corpus.indexing import index_all
from mappings.errors import InvalidInput, Unavailable
from mappings.formats.jsonl import parse_record
from search.bootstrap import Medley
from search.settings import Settings
from web.cli.main import cli

OTTERS = [
    ("o1", "Otters swim in rivers and eat fish"),
    ("b2", "Badgers dig setts in woodland"),
    ("h3", "Hearts pump blood"),
]


PYTHON = os.environ.get("MEDLEY_TEST_PEERS") or sys.executable
"""The interpreter that has the other systems, such as that of an environment with the extra `peers` alone."""


def require(name: str, folder: Path) -> None:
    """Skip the test where another system is not installed."""
    if lacking := peers.find_missing(PYTHON, peers.PEERS[name][1], folder):
        pytest.skip(f"{name} needs {', '.join(lacking)}")


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder as the bench prepares it for another system."""
    commands.write_texts(OTTERS, tmp_path / "documents.jsonl")
    commands.write_texts([("w", "what do badgers dig")], tmp_path / "warm.jsonl")
    commands.write_texts([("q1", "otters eating fish"), ("q2", "setts of badgers")], tmp_path / "queries.jsonl")
    return tmp_path


def open_with_notes(own: Settings) -> Medley:
    """An installation without the collection of the bench."""
    medley = Medley.open(own)
    collection = medley.collections.create("notes", "notes")
    medley.collections.store("notes").put([parse_record({"id": "n1", "text": "Otter seen."}, collection)])
    return medley


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("name", list(peers.PEERS))
def test_another_system_builds_and_answers_from_its_own_files(workplace, name):
    require(name, workplace)
    module, _ = peers.PEERS[name]
    assert commands.run_measured(PYTHON, ["build", module, str(workplace)], 1, workplace) == "null"
    assert (workplace / module).is_dir()
    memory = json.loads(commands.run_measured(PYTHON, ["search", module, str(workplace)], 1, workplace))
    assert not memory or 0 < memory["pss_mb"] <= memory["rss_mb"]
    first, second = map(json.loads, (workplace / f"{module}.jsonl").read_text().splitlines())
    assert (first["id"], first["ranking"][0], second["id"], second["ranking"][0]) == ("q1", "o1", "q2", "b2")
    assert sorted(first["ranking"]) == sorted({*first["ranking"]})
    assert first["ms"] > 0
    assert first["steps"] == {}


@pytest.mark.torch
def test_the_loop_writes_a_vector_a_document_and_an_index_of_words(tmp_path):
    for name in peers.PEERS["loop"][1]:
        pytest.importorskip(name)
    from evaluation.bench.systems import plain

    plain.build(OTTERS, tmp_path / "out", measure.find_minilm())
    assert np.load(tmp_path / "out" / "vectors.npy").shape == (3, 384)
    assert json.loads((tmp_path / "out" / "ids.json").read_text()) == ["o1", "b2", "h3"]
    assert any((tmp_path / "out" / "words").iterdir())


@pytest.mark.slow
@pytest.mark.torch
def test_a_sample_is_measured_beside_what_is_installed(settings, tmp_path):  # noqa: F811
    absent = {name for name, (_, needs) in peers.PEERS.items() if peers.find_missing(PYTHON, needs, tmp_path)}
    if absent == set(peers.PEERS):
        pytest.skip(f"{', '.join(absent)} are not installed")
    report = peers.bench_peers(settings, python=PYTHON, sample=4)
    figures, machine = report["figures"], report["machine"]
    assert (report["bench"], figures["documents"], figures["queries"]) == ("peers", 40.0, 4.0)
    assert {line.split(" needs ")[0] for line in machine.get("left_out", ())} == absent
    for name in peers.PEERS.keys() - absent:
        ours, theirs = figures["medley_http_p50_ms"], figures[f"{name}_p50_ms"]
        assert figures[f"{name}_p50_ratio"] == pytest.approx(ours / theirs, rel=0.01)
        assert figures[f"{name}_seconds_ratio"] == pytest.approx(
            figures["medley_seconds"] / figures[f"{name}_seconds"], rel=0.01
        )
    # The gateway answers what the embedded search answers.
    for measured in peers.MEASURES:
        assert figures[f"medley_http_{measured}"] == figures[f"medley_embedded_{measured}"] > 0
    assert {f"medley_{way}_{step}_ms" for way in ("http", "embedded") for step in ("encode", "legs", "evidence")} <= {
        *figures
    }
    assert figures["work_noise"] >= 1
    assert figures["p50_noise"] >= 1
    assert not settings.home.exists()  # the home is one of its own


def test_steps_have_medians_and_a_step_that_was_left_out_took_no_time():
    answers = [{"ms": 1.0, "steps": {"legs": 4.0, "names": 1.0}}, {"ms": 3.0, "steps": {"legs": 2.0}}]
    found = peers.SystemRound(answers, {})
    assert found.steps() == {"legs_ms": 3.0, "names_ms": 0.5}
    assert found.times == [1.0, 3.0]
    assert peers.SystemRound([{"ms": 1.0, "steps": {}}], {}).steps() == {}


def test_a_sample_has_what_its_claims_cite(settings):  # noqa: F811
    claims = [
        {"id": number, "claim": f"Drug {number} helps", "evidence": {}, "cited_doc_ids": [number]}
        for number in (129, 1, 2)
    ]
    write(settings.data, "scifact/claims_dev.jsonl.gz", claims)
    found = peers.read_workload(settings, 1)
    assert [item.id for item in found.abstracts] == ["129", *map(str, range(9))]
    assert [item.id for item in found.claims] == ["129"]
    assert found.warm == ["Drug 0 helps", "Drug 1 helps", "Drug 2 helps"]
    whole = peers.read_workload(settings)
    assert (len(whole.abstracts), len(whole.claims)) == (130, 3)
    assert [item.id for item in whole.abstracts[:3]] == ["0", "1", "2"]  # the order of the file


def test_claims_that_cite_nothing_are_not_asked(settings):  # noqa: F811
    write(settings.data, "scifact/claims_dev.jsonl.gz", [
        {"id": 1, "claim": "Otters fly", "evidence": {}, "cited_doc_ids": []},
        {"id": 2, "claim": "Drug 2 helps", "evidence": {}, "cited_doc_ids": [2]},
    ])  # fmt: skip
    assert [item.id for item in peers.read_workload(settings, 1).claims] == ["2"]


def test_without_other_systems_it_says_what_to_install(settings, monkeypatch):  # noqa: F811
    monkeypatch.setattr(peers, "PEERS", {"otter": ("plain", ("json", "no_such_library"))})
    with pytest.raises(Unavailable, match=r"otter needs no_such_library: pip install .*peers.*--python"):
        peers.bench_peers(settings)


def test_an_interpreter_that_is_none_is_named(settings, tmp_path):  # noqa: F811
    with pytest.raises(InvalidInput, match="is not a Python interpreter") as found:
        peers.bench_peers(settings, python=str(tmp_path / "python"))
    assert found.value.field == "python"


def test_an_interpreter_that_fails_says_why(settings, tmp_path):  # noqa: F811
    file = tmp_path / "python"
    file.write_text("#!/bin/sh\necho no such otter >&2\nexit 3\n")
    file.chmod(0o755)
    with pytest.raises(Unavailable, match="the measured process failed: no such otter"):
        peers.bench_peers(settings, python=str(file))


def test_other_systems_see_their_own_packages_only(tmp_path):
    command = [sys.executable, "-S", str(commands.MEASURE), "missing", "json", "numpy", "search"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={}, cwd=tmp_path)
    assert json.loads(ran.stdout) == ["numpy", "search"]


@pytest.mark.slow
def test_a_gateway_that_refuses_is_no_figure(tmp_path):
    own = Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")
    index_all(open_with_notes(own), "notes")
    with embedded_gateway(commands.environment_of(own)) as gateway:
        from evaluation.bench.systems import medley_http

        (tmp_path / "address").write_text(gateway.address.removeprefix("http://"))
        answer = medley_http.open_search(tmp_path / "address", "")
        with pytest.raises(OSError, match=r"the gateway answered 400: .*there is no collection"):
            answer("otters")
        memory = gateway.memory()
    assert not memory or memory["pss_mb"] <= memory["rss_mb"]


def test_an_interpreter_is_found_from_where_the_command_runs(settings, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(peers, "PEERS", {"otter": ("plain", ("no_such_library",))})
    with pytest.raises(Unavailable, match="otter needs no_such_library"):
        peers.bench_peers(settings, python="bin/python")


def test_versions_are_of_what_is_installed():
    assert measure.main("versions", "no_such_library", "numpy") == {"numpy": np.__version__}


def test_memory_that_is_not_reported_is_left_out():
    assert measure.read_memory("no-such-process") == {}


@pytest.mark.parametrize(("option", "value"), [("--sample", "5"), ("--python", "python3")])
def test_the_options_are_for_peers_only(option, value):
    ran = CliRunner().invoke(cli, ["bench", "words", option, value, "--json"])
    assert ran.exit_code != 0
    assert f"{option} is for peers, not for words" in json.dumps([ran.output, str(ran.exception)])


def test_the_settings_reach_a_process_of_ours(tmp_path):
    own = commands.own_settings(Settings(encoder="hashing-256"), tmp_path / "home", 2)
    known = commands.environment_of(replace(own, reranker="none"))
    assert (known["MEDLEY_HOME"], known["MEDLEY_ENCODER"]) == (str(tmp_path / "home"), "hashing-256")
    assert (known["MEDLEY_RERANKER"], known["MEDLEY_THREADS"], known["MEDLEY_REDIS"]) == ("none", "2", "")

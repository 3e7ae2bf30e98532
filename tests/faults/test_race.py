"""Two processes race to replace one document: it is always found whole, in one version, and the last accepted stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from backends import EVERYBODY
from racer import ID, SECTIONS
from worker_process import ROOT, eventually

from mappings.errors import NotFound
from search.bootstrap import Medley
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect

pytestmark = pytest.mark.slow

RACER = Path(__file__).with_name("racer.py")
TIMES = 100
"""Of each of the two."""

LOOK = 0.01
"""Seconds between two searches of the reader, for each racer: the racers need the processors."""


@contextmanager
def racing(who: str, settings: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A racer that is ready to begin; killed afterwards."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    environment |= {f"MEDLEY_{name.upper()}": value for name, value in settings.items()}
    command = [sys.executable, str(RACER), who, str(TIMES)]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def seen(medley: Medley) -> list[str]:
    """The passages of one answer: by words that all contain, or by a vector that all are close to."""
    encoder = medley.models.encoders(medley.collections.get("notes"))["dense"]
    vector = encoder.encode_queries(["heart consultation"])[0]
    while True:
        index = medley.engine.published("notes")
        if index is None:
            return []
        request = LegsRequest(index, LexicalQuery((("heart", 1.0),)), {"dense": vector}, EVERYBODY, 50)
        try:
            answer = medley.engine.legs(request)
        except NotFound:  # an index that lost the race to be the first was dropped
            continue
        assert answer.total.value <= 1
        return [item.passage for leg in answer.rankings.values() for item in leg]


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def settings(request, tmp_path):
    """Of a Medley in which nothing was ever indexed."""
    chosen = {"home": str(tmp_path), "encoder": "hashing-256", "reranker": "none"}
    if request.param == "opensearch":
        chosen |= {"opensearch": request.getfixturevalue("node").url, "opensearch_prefix": f"t{os.urandom(5).hex()}"}
    yield chosen
    if request.param == "opensearch":
        cluster = opened(chosen).engine.cluster
        cluster.write("DELETE", f"/{cluster.prefix}.*")
        cluster.close()


def runs(racer: subprocess.Popen[str]) -> bool:
    """Whether it still runs, a moment later."""
    with suppress(subprocess.TimeoutExpired):
        racer.wait(LOOK)
    return racer.returncode is None


def opened(settings: Mapping[str, str]) -> Medley:
    return Medley.open(Settings(**{**settings, "home": Path(settings["home"])}), patient=True)


def test_one_whole_version_is_always_found_and_the_last_accepted_one_stays(settings):
    medley = opened(settings)
    medley.collections.create("notes")
    answers: list[list[str]] = []
    with ExitStack() as stack:
        racers = [stack.enter_context(racing(who, settings)) for who in ("one", "two")]
        for racer in racers:
            print(file=racer.stdin, flush=True)
        eventually(lambda: seen(medley), "a first version is there")
        while any(map(runs, racers)):
            answers.append(seen(medley))
        given = [list(map(int, racer.stdout.read().split())) for racer in racers]
        assert [racer.wait() for racer in racers] == [0, 0]
    assert [len(versions) for versions in given] == [TIMES, TIMES]
    assert sorted(given[0] + given[1]) == list(range(1, 2 * TIMES + 1))
    for passages in answers:
        assert passages, "for a moment nothing was found"
        assert len({passage.partition("#")[0] for passage in passages}) == 1, f"two versions at once: {passages}"
    assert len({passages[0] for passages in answers}) > 3, "the reader saw nothing of the race"
    stored = medley.collections.store("notes").latest([ID])[ID]
    assert stored.version == 2 * TIMES
    index = medley.engine.resolve("notes").index
    assert list(medley.engine.contents(index)) == [(ID, 2 * TIMES, SECTIONS)]
    assert {passage.partition("#")[0] for passage in seen(medley)} == {f"{ID}@{2 * TIMES}"}
    assert [str(item) for item in inspect(Indexer.of(medley, "notes"))] == []
    assert list(medley.engine.names("notes")) == [index]

"""`medley bench soak`, for seconds instead of an hour: a gateway and a worker that are asked more than they can answer."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import pytest
from click.testing import CliRunner
from test_bench_search import settings  # noqa: F401 - the same small SciFact

from evaluation.bench.load.arrivals import LoadReply, MemoryWatch, run_closed, run_open
from evaluation.bench.shared.servers import RunningServer
from evaluation.bench.soak import bench_soak
from mappings.errors import InvalidInput
from web.cli.main import cli


@pytest.mark.slow
def test_a_soak_loses_nothing_and_answers_every_request(settings, redis):  # noqa: F811
    report = bench_soak(replace(settings, redis=redis.url), minutes=0.1, documents=40, capacity_seconds=2.0)
    figures = report["figures"]
    assert report["machine"]["minutes"] == 0.1
    assert figures["offered_per_second"] == pytest.approx(2 * figures["capacity_per_second"], rel=1e-3)
    assert figures["requests"] == figures["answered"] + figures["refused"] + figures["failed"]
    assert figures["requests"] > 6  # they arrived for six seconds
    assert figures["failed"] == 0
    assert figures["changes_accepted"] > 3
    assert (figures["documents_lost"], figures["deletions_lost"], figures["documents_failed"]) == (0, 0, 0)
    assert 0 < figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]
    assert figures["memory_most_mb"] >= figures["memory_before_mb"] > 50


def test_a_soak_without_a_queue_is_refused(settings):  # noqa: F811
    with pytest.raises(InvalidInput, match="MEDLEY_REDIS"):
        bench_soak(settings)
    refused = CliRunner().invoke(cli, ["bench", "words", "--minutes", "5"])
    assert "--minutes is for soak, not for words" in refused.output + str(refused.exception)


def slow(number: int) -> tuple[int, bool]:
    time.sleep(0.05)
    return 200, number % 2 == 0


def test_requests_arrive_whether_or_not_earlier_ones_were_answered():
    replies = run_open(slow, per_second=100, seconds=1.0)
    assert 70 < len(replies) < 130  # one client that waits would send twenty
    assert [item.due for item in replies] == [item.due for item in run_open(slow, per_second=100, seconds=1.0)]
    assert all(item.due < 1 and item.milliseconds >= 50 for item in replies)
    assert {item.is_search for item in replies} == {True, False}


def test_clients_that_wait_send_one_request_after_the_other():
    seen: list[int] = []

    def send(number: int) -> tuple[int, bool]:
        seen.append(number)
        return slow(number)

    replies = run_closed(send, clients=2, seconds=0.5)
    assert sorted(seen) == [*range(len(replies))]  # each number once
    assert 4 <= len(replies) <= 22
    assert isinstance(replies[0], LoadReply)


def test_memory_counts_what_a_server_started():
    program = "import subprocess, sys; held = bytearray(60_000_000); print(1, flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        server = RunningServer("", process.pid)
        with MemoryWatch(lambda: server.memory()["pss_mb"], every=0.05) as watch:
            time.sleep(0.5)
        assert len(watch.megabytes) >= 3
        assert min(watch.megabytes) > 57
        assert process.stdin is not None
        process.stdin.close()

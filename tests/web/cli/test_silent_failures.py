"""What the command line once passed over in silence, or met with a traceback, is one clear line and an exit status."""

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import time

import pytest
from command_line import WITHOUT_OVERRIDE, environment, medley, start, stop, wait_for_line
from opensearch_node import free_port

NO_REDIS = "redis://user:secret@127.0.0.1:9/0"  # port 9: nothing listens there
RECORD = {"id": "a1", "title": "Aspirin", "text": "Aspirin lowered mortality after infarction.", "year": 2015}

pytestmark = pytest.mark.slow


def records(count: int = 1) -> bytes:
    return "".join(json.dumps(RECORD | {"id": f"a{number}"}) + "\n" for number in range(count)).encode()


@pytest.fixture(scope="module")
def two_abstracts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexed") / "home"
    done = medley(folder, "ingest", "-", "-c", "abstracts", standard_input=records(2))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def home(two_abstracts, tmp_path):
    """A home with two indexed abstracts."""
    return shutil.copytree(two_abstracts, tmp_path / "home")


def one_line(done, *parts):
    """Assert that the command failed with one line on stderr that has all `parts`."""
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert [part for part in parts if part not in done.stderr] == []


@pytest.mark.parametrize(
    ("command", "consequence"),
    [
        (["ingest", "-", "-c", "abstracts"], "the documents are stored, and not indexed yet"),
        (["delete", "a1", "-c", "abstracts"], "the deletions are stored"),
        (["index", "rebuild", "abstracts"], "the rebuild as abstracts-2 was begun"),
    ],
)
def test_a_queue_that_does_not_answer_is_reported(home, command, consequence):
    done = medley(home, *command, "--queue", standard_input=records(3), MEDLEY_REDIS=NO_REDIS)
    one_line(done, "Redis at 127.0.0.1:9/0 does not answer, so nothing was queued", consequence, "[MEDLEY_REDIS]")
    assert "secret" not in done.stderr


def test_a_queue_that_does_not_answer_is_reported_in_json(home):
    command = ["ingest", "-", "-c", "abstracts", "--queue", "--json"]
    done = medley(home, *command, standard_input=records(3), MEDLEY_REDIS=NO_REDIS)
    report, error = json.loads(done.stdout), json.loads(done.stderr)["error"]
    assert (done.returncode, report["accepted"], report["unchanged"], report["queued"]) == (1, 3, 2, False)
    assert (error["code"], error["field"]) == ("unavailable", "MEDLEY_REDIS")
    waiting = json.loads(medley(home, "status", "--json").stdout)["collections"][0]["waiting"]
    assert waiting == 1


def test_a_retry_that_is_not_queued_is_reported(home):
    from search.bootstrap import Medley
    from search.settings import Settings
    from search.storage import State, StateRecord

    store = Medley.open(Settings(home=home)).collections.store("abstracts")
    store.settle("abstracts-1", [StateRecord("a1", 1, State.FAILED, 0, 1, "a test says so")])
    done = medley(home, "retry", "-c", "abstracts", "--queue", MEDLEY_REDIS=NO_REDIS)
    one_line(done, "nothing was queued", "the documents wait to be indexed again")


@pytest.mark.redis
def test_what_was_queued_says_so(home, redis):
    command = ["ingest", "-", "-c", "abstracts", "--queue", "--json"]
    done = medley(home, *command, standard_input=records(3), MEDLEY_REDIS=redis.url)
    assert (done.returncode, json.loads(done.stdout)["queued"], done.stderr) == (0, True, "")


@pytest.mark.redis
def test_a_worker_says_that_it_is_ready_and_answers_a_ping(home, redis):
    one_line(medley(home, "worker", "--ping", MEDLEY_REDIS=redis.url), "did not answer within 5 s: no worker runs")
    process = start(home, "worker", "--queues", "encode", MEDLEY_REDIS=redis.url)
    try:
        place = redis.url.removeprefix("redis://")
        assert f"ready: encode from Redis at {place}" in wait_for_line(process, "ready")[-1]
        answered = medley(home, "worker", "--ping", MEDLEY_REDIS=redis.url)
    finally:
        stop(process)
    assert (answered.returncode, answered.stdout.endswith("answers\n")) == (0, True)


def test_a_ping_names_a_redis_that_does_not_answer(tmp_path):
    one_line(medley(tmp_path / "home", "worker", "--ping", MEDLEY_REDIS=NO_REDIS), "Redis at 127.0.0.1:9/0")


def test_a_gateway_says_when_it_is_ready(home):
    port = free_port()
    process = start(home, "serve", "--port", str(port), "--workers", "2")
    try:
        lines = wait_for_line(process, "is ready")
        assert lines[-1] == f"Medley is ready at http://127.0.0.1:{port}/"
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.0 200")
        time.sleep(1.0)  # the other process is ready, too, and says nothing
    finally:
        assert "ready" not in stop(process)


@pytest.mark.parametrize("command", ["serve", "inference"])
def test_a_taken_port_is_the_only_thing_said(tmp_path, command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = medley(tmp_path / "home", command, "--port", port)
    one_line(done, f"can't listen on 127.0.0.1, port {port}: Address already in use; choose another --port")


def test_an_address_of_another_machine_is_refused_at_once(home):
    medley(home, "tokens", "add", "ada", "--label", "public")
    one_line(medley(home, "serve", "--host", "192.0.2.1"), "can't listen on 192.0.2.1, port 8080: Cannot assign")


def test_a_search_reads_its_text_from_the_standard_input(home):
    done = medley(home, "search", "-", "-c", "abstracts", "--json", standard_input=b"  aspirin mortality\n")
    assert json.loads(done.stdout)["total"]["value"] == 2
    logged = json.loads((home / "access.log").read_text().splitlines()[-1])
    assert logged["asked"] == {"text": "aspirin mortality"}


@pytest.mark.parametrize(
    ("piped", "message"),
    [(b"", "standard input is empty"), (b"fi\xe8vre", "not valid UTF-8 (byte 3)"), (b"a" * 1_100_000, "more than")],
)
def test_a_text_that_cannot_be_searched_is_refused(home, piped, message):
    one_line(medley(home, "search", "-", "-c", "abstracts", standard_input=piped), message, "[text]")


def test_records_from_the_standard_input_can_be_compressed_and_wrong(home):
    import gzip

    piped = gzip.compress(records(4) + b"{broken\n")
    report = json.loads(medley(home, "ingest", "-", "-c", "abstracts", "--json", standard_input=piped).stdout)
    assert (report["accepted"], report["unchanged"], report["rejected"], report["indexed"]) == (4, 2, 1, 2)
    (rejected,) = report["rejections"]
    assert (rejected["source"], rejected["position"]) == ("standard input", "line 5")
    assert {item.name for item in home.iterdir()} == {"access.log", "access.log.head", "collections", "cursor.key"}


@pytest.mark.parametrize(
    ("piped", "format_", "message"),
    [
        (b"no records\n", "jsonl", "standard input: expected JSON Lines"),
        (b"Cough.", "notes", "notes are named by their files"),
        (b"<a/>", "nothing", "there is no format 'nothing'"),
    ],
)
def test_records_that_cannot_be_read_from_the_standard_input_are_refused(home, piped, format_, message):
    one_line(medley(home, "ingest", "-", "-c", "abstracts", "-f", format_, standard_input=piped), message)


def test_a_closed_standard_input_is_named(home):
    closing = ("sh", "-c", 'exec "$@" <&-', "sh")
    one_line(medley(home, "search", "-", "-c", "abstracts", prefix=closing), "no standard input")


@pytest.mark.parametrize(
    ("mistyped", "near"),
    [
        (["serach"], "search"),
        (["tokens", "lst"], "list"),
        (["index", "rebild"], "rebuild"),
        (["status", "--onc"], "--once"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_near_one(tmp_path, mistyped, near):
    done = medley(tmp_path / "home", *mistyped)
    assert (done.returncode, "Did you mean" in done.stderr, f"'{near}'" in done.stderr) == (2, True, True)


def test_a_command_that_is_near_none_is_answered_with_help(tmp_path):
    done = medley(tmp_path / "home", "xyzzy")
    assert (done.returncode, "`medley --help` lists them" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "command", [["search", "aspirin"], ["ingest", "-"], ["status"], ["index", "verify", "abstracts"]]
)
def test_a_read_only_home_is_one_line(home, command):
    arguments = command if command[0] == "index" else [*command, "-c", "abstracts"]
    prefix = WITHOUT_OVERRIDE if os.geteuid() == 0 else ()
    home.chmod(0o500)
    try:
        done = medley(home, *arguments, prefix=prefix, standard_input=records(1))
    finally:
        home.chmod(0o700)
    one_line(done, "the home", "is read-only; a search needs to write there", "[MEDLEY_HOME]")


@pytest.mark.parametrize("command", [["ingest", "-", "-c", "abstracts"], ["index", "drop", "abstracts-1"]])
def test_a_lock_that_cannot_be_taken_is_one_line(home, command):
    folder = home / "collections" / "abstracts" / "indexes" / "abstracts-1"
    (folder / "writer.lock").unlink()
    folder.chmod(0o500)
    try:
        done = medley(home, *command, prefix=WITHOUT_OVERRIDE if os.geteuid() == 0 else (), standard_input=records(3))
    finally:
        folder.chmod(0o700)
    one_line(done, "the writer of index abstracts-1 can't be taken", "Permission denied")


def test_progress_counts_what_is_read_and_knows_what_is_to_be_indexed(tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_bytes(records(700))
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "web.cli", "ingest", str(file), "-c", "abstracts"],
        env=environment(tmp_path / "home", TERM="xterm", COLUMNS="100"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        cwd=tmp_path,
    )
    os.close(terminal)
    seen = b""
    try:
        while piece := os.read(controller, 65536):
            seen += piece
    except OSError:  # how Linux reports that the other end was closed
        pass
    out, _ = process.communicate(timeout=60)
    os.close(controller)
    assert (process.returncode, b"700 accepted" in out) == (0, True)
    assert b"/?" not in seen
    assert b"of 700" in seen


def test_the_help_starts_fast(tmp_path):
    command, seconds = [sys.executable, "-m", "web.cli", "--help"], []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, env=environment(tmp_path / "home"), check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.3 or os.getloadavg()[0] > 2, seconds

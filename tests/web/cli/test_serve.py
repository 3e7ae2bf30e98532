"""The portal under gunicorn: several processes, one home."""

import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import quick_command
from portal_home import settings_of

from mappings.errors import ModelError
from search.bootstrap import Medley
from search.ranking.anytime import AnytimeReranker
from search.startup import warm_up
from web import create_app
from web.access import tokens
from web.access.log_check import check_log

SHIPPED_RERANKERS = {"medley-crossencoder"}

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def start(home, *options):
    environment = os.environ | {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}
    command = quick_command("serve", *options)
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def get(address, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.fixture
def served(home):
    """(address, home) of a portal with two workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = start(home, "--port", str(port), "--workers", "2")
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address, process)
        yield address, home
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors


def wait_for(address, process):
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            if get(f"{address}/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the portal did not start")


def test_workers_agree_and_a_revoked_token_is_refused_by_all(served):
    address, home = served
    search = f"{address}/v1/search?collection=notes&text=pneumonia"
    assert {get(search)[0] for _ in range(6)} == {200}
    token = tokens.add(home, "ada", ["ward-7"])
    assert {get(search)[0] for _ in range(6)} == {401}
    answers = [get(search, token) for _ in range(12)]
    assert {status for status, _ in answers} == {200}
    assert {json.loads(body)["total"]["value"] for _, body in answers} == {2}
    tokens.revoke(home, token.split("_")[1])
    assert {get(search, token)[0] for _ in range(8)} == {401}
    lines = [json.loads(line) for line in (home / "access.log").read_text().splitlines()]
    assert [line["user"] for line in lines] == ["local"] * 6 + ["ada"] * 12 + [None] * 8


def test_models_are_loaded_before_the_first_search(home):
    medley = Medley.open(replace(settings_of(home), encoder="", reranker=""))
    warm_up(medley)
    assert set(medley.models._rerankers) == SHIPPED_RERANKERS
    for kept in medley.models._rerankers.values():
        assert isinstance(kept, AnytimeReranker)
        assert kept.pace._measured


def test_a_reranker_that_is_missing_does_not_stop_the_start(home):
    medley = Medley.open(replace(settings_of(home), reranker="no-such-model"))
    warm_up(medley)
    with pytest.raises(ModelError, match="no-such-model"):
        medley.models.rerank_stages(medley.collections.get("notes"))


def test_a_gateway_starts_while_its_cluster_is_down_and_says_so(tmp_path):
    medley = Medley.open(replace(settings_of(tmp_path), opensearch="http://127.0.0.1:9"))
    warm_up(medley)
    client = create_app(medley).test_client()
    assert client.get("/healthz").status_code == 200
    for address in ("/readyz", "/v1/search?collection=notes&text=fever", "/"):
        answer = client.get(address)
        assert (answer.status_code, b"can&#39;t be reached" in answer.data or b"can't be reached" in answer.data) == (
            503,
            True,
        )


def test_an_address_of_eight_thousand_characters_is_accepted(served):
    address, _ = served
    status, body = get(f"{address}/v1/search?collection=notes&text=a&cursor={'x' * 7_000}")
    assert (status, json.loads(body)["error"]["field"]) == (400, "cursor")


def test_an_open_address_without_a_token_is_refused(tmp_path):
    process = start(tmp_path, "--host", "0.0.0.0", "--port", "1")
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "0.0.0.0 can be reached from other machines, and no token protects it" in errors


def browser(jar):
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))


def send(opener, address, **form):
    page = opener.open(f"{address}/login", timeout=60).read().decode()
    form["csrf"] = re.search(r'name="csrf" value="([^"]+)"', page)[1]
    data = urllib.parse.urlencode(form).encode()
    return opener.open(address + ("/login" if "token" in form else "/logout"), data, timeout=60).status


def status_with(cookie, address):
    request = urllib.request.Request(f"{address}/v1/collections", headers={"Cookie": cookie})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_logout_is_known_to_every_process_and_all_write_one_chain(served):
    address, home = served
    token = tokens.add(home, "ada", ["ward-7"])
    jar = http.cookiejar.CookieJar()
    opener = browser(jar)
    assert send(opener, address, token=token) == 200
    copied = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
    assert {status_with(copied, address) for _ in range(12)} == {200}
    assert send(opener, address) == 200
    assert {status_with(copied, address) for _ in range(12)} == {401}
    assert {get(f"{address}/v1/collections", "wrong")[0] for _ in range(6)} == {401}
    (home / "tokens.json").unlink()
    assert {get(f"{address}/v1/collections")[0] for _ in range(12)} == {401}
    report = check_log(home / "access.log")
    assert (report.first, report.last, report.broken) == (1, 20, None)

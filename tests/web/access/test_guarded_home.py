"""A home that ever had a token stays guarded, and one without refuses whatever came through a proxy."""

import subprocess
import sys
from pathlib import Path

import pytest
from portal_home import settings_of

from web import create_app
from web.access import tokens
from web.access.guard import is_guarded

ROOT = Path(__file__).parents[3]


def in_a_new_process(home):
    """Whether a process that has seen nothing yet finds `home` guarded."""
    code = f"from pathlib import Path; from web.access.guard import is_guarded; print(is_guarded(Path({str(home)!r})))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return ran.stdout.strip() == "True"


def test_a_home_without_tokens_is_open(tmp_path):
    assert not is_guarded(tmp_path)
    assert not is_guarded(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_removing_the_tokens_while_serving_opens_nothing(client, home, token):
    headers = token("ada", "ward-7")
    assert client.get("/v1/collections", headers=headers).status_code == 200
    (home / "tokens.json").unlink()
    for sent in ({}, headers):
        assert client.get("/v1/collections", headers=sent).status_code == 401
    assert client.get("/").status_code == 303
    assert create_app(settings_of(home)).test_client().get("/v1/collections").status_code == 401
    assert in_a_new_process(home)


def test_a_process_remembers_that_there_were_tokens(client, home, token):
    token("ada", "ward-7")
    assert client.get("/v1/collections").status_code == 401
    (home / "tokens.json").unlink()
    (home / "guarded").unlink()
    assert client.get("/v1/collections").status_code == 401


def test_a_portal_that_starts_with_tokens_remembers_them_before_the_first_request(home):
    tokens.add(home, "ada", ["ward-7"])
    app = create_app(settings_of(home))
    (home / "tokens.json").unlink()
    (home / "guarded").unlink()
    assert app.test_client().get("/v1/collections").status_code == 401


def test_tokens_of_an_earlier_version_leave_a_marker(home):
    tokens.add(home, "ada", ["ward-7"])
    (home / "guarded").unlink()
    create_app(settings_of(home))
    (home / "tokens.json").unlink()
    assert in_a_new_process(home)


def test_a_home_that_cannot_be_read_is_guarded(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert is_guarded(loop)


def test_only_removing_all_on_purpose_opens_a_home_again(home):
    tokens.add(home, "ada", ["ward-7"])
    assert is_guarded(home)
    (home / "tokens.json").write_text("damaged")
    assert tokens.remove_all(home) == 0
    assert not in_a_new_process(home)
    assert not is_guarded(home)


@pytest.mark.parametrize(
    "header",
    [
        "Via",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "x-forwarded-anything",
        "X-Real-Ip",
        "X-Client-Ip",
        "True-Client-Ip",
    ],
)
@pytest.mark.parametrize("path", ["/v1/collections", "/", "/metrics"])
def test_without_tokens_a_proxy_that_names_itself_in_any_way_is_refused(client, header, path):
    assert client.get(path).status_code == 200
    assert client.get(path, headers={header: "1.1 proxy"}).status_code == 403

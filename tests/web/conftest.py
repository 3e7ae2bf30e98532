"""A portal over a small home, made once and copied for each test."""

import json
import shutil

import pytest
from portal_home import fill, settings_of

from web import create_app
from web.access import tokens


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A home with both collections indexed; never written to by a test."""
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def home(filled, tmp_path):
    """A copy of it, for one test."""
    return shutil.copytree(filled, tmp_path / "home")


@pytest.fixture
def app(home):
    app = create_app(settings_of(home))
    app.testing = True
    return app


@pytest.fixture
def client(app):
    """The user of this machine; there are no tokens."""
    return app.test_client()


@pytest.fixture
def token(home):
    """Makes tokens: `token("ada", "ward-7")` returns the headers with one, `writes` names where it may write."""

    def make(user, *labels, writes=(), operator=False):
        return {"Authorization": f"Bearer {tokens.add(home, user, labels, writes, operator)}"}

    return make


@pytest.fixture
def logged(home):
    """The records of the access log so far, without their places in the chain."""

    def read():
        file = home / "access.log"
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [{name: line[name] for name in line if name not in ("number", "before", "chain")} for line in lines]

    return read


@pytest.fixture
def store(app):
    """The store of the abstracts."""
    return app.extensions["medley"].medley.collections.store("abstracts")

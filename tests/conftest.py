"""Fixtures for every test. A missing dependency skips the tests that need it; with CI=true they fail instead."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("medley", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("medley")

sys.path.append(str(Path(__file__).parent / "services"))  # modules that several test folders share
import memory  # noqa: E402
import opensearch_node  # noqa: E402
import redis_server  # noqa: E402

TEST_SETTINGS = (
    "MEDLEY_DATA",
    "MEDLEY_TEST_OPENSEARCH",
    "MEDLEY_TEST_LONG",
    "MEDLEY_TEST_OPERATIONS",
    "MEDLEY_TEST_PEERS",
    "MEDLEY_TEST_KILLS",
    "MEDLEY_TEST_SECURITY",
    "MEDLEY_WRITE_GOLDEN",
)
for name in [name for name in os.environ if name.startswith("MEDLEY_") and name not in TEST_SETTINGS]:
    del os.environ[name]  # the tests must not depend on a developer's own settings

if folder := memory.folder():  # where pytest creates tmp_path
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))
for library in (
    "OMP",
    "OPENBLAS",
    "MKL",
):  # set before numpy and torch are imported: the two xdist workers already keep two cores busy
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

OPT_IN = "run only by make test-security"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def _missing(item: pytest.Item) -> str:
    if item.get_closest_marker("torch") and not importlib.util.find_spec("torch"):
        return "torch is not installed: pip install -e '.[train]'"
    if item.get_closest_marker("browser") and not any(map(shutil.which, BROWSERS)):
        return "Chromium is not installed"
    if item.get_closest_marker("opensearch") and opensearch_node.missing():
        return f"no OpenSearch node: {opensearch_node.missing()}"
    if item.get_closest_marker("redis") and redis_server.missing():
        return redis_server.missing()
    if item.get_closest_marker("data") and not os.environ.get("MEDLEY_DATA"):
        return "MEDLEY_DATA is not set: no data sets to run on"
    if item.get_closest_marker("security") and not os.environ.get("MEDLEY_TEST_SECURITY"):
        return OPT_IN
    return ""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip modules that need torch throughout if `-m` excludes torch: the import alone takes seconds."""
    if collection_path.suffix != ".py" or "not torch" not in config.option.markexpr:
        return None
    return True if 'importorskip("torch"' in collection_path.read_text(encoding="utf-8") else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"node", "own_node"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.opensearch)
        if {"redis", "_redis"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.redis)
        reason = _missing(item)
        # Everything but the user's own data sets can be installed, so CI must have it.
        if reason and (os.environ.get("CI") != "true" or item.get_closest_marker("data") or reason == OPT_IN):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the data sets, for tests marked `data`."""
    return Path(os.environ["MEDLEY_DATA"])


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """A real OpenSearch node, or the one that MEDLEY_TEST_OPENSEARCH names, shared by all xdist workers.

    A test uses an index prefix of its own and removes what it created.
    """
    if url := os.environ.get("MEDLEY_TEST_OPENSEARCH"):
        yield opensearch_node.Running(url)
        return
    folder = tmp_path_factory.getbasetemp()
    with opensearch_node.shared(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as started:
        yield started


@pytest.fixture
def own_node():
    """A node for one test, which may kill it."""
    with opensearch_node.running() as started:
        yield started


@pytest.fixture(scope="session")
def _redis(tmp_path_factory):
    server = redis_server.start_redis(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
def redis(_redis):
    """A real, empty Redis, which a test may kill and restart."""
    _redis.flush()
    return _redis

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from backends import ENGINES, Backend, clear, embedded, opensearch, random_drafts
from contract_patients import ward_drafts

PARAMS = [pytest.param(name, marks=[pytest.mark.opensearch] if name == "opensearch" else []) for name in ENGINES]


@contextmanager
def opened(request: pytest.FixtureRequest, name: str, folder: Path) -> Iterator[Backend]:
    if name == "embedded":
        yield embedded(folder)
        return
    backend = opensearch(request.getfixturevalue("node").url)
    yield backend
    clear(backend)


@pytest.fixture(params=PARAMS)
def backend(request, tmp_path) -> Iterator[Backend]:
    with opened(request, request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="module", params=PARAMS)
def library(request, tmp_path_factory):
    """A backend with an index of 80 random documents: (backend, index name, drafts)."""
    with opened(request, request.param, tmp_path_factory.mktemp("library")) as backend:
        drafts = random_drafts(seed=7, count=80)
        yield backend, backend.index([draft.entry() for draft in drafts]).index, drafts


@pytest.fixture(scope="module", params=PARAMS)
def ward(request, tmp_path_factory):
    """A backend with an index of 90 random documents: (backend, index name, drafts)."""
    with opened(request, request.param, tmp_path_factory.mktemp("ward")) as backend:
        drafts = ward_drafts(seed=11, count=90)
        yield backend, backend.index([draft.entry() for draft in drafts]).index, drafts

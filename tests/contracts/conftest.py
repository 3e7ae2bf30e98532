from __future__ import annotations

import pytest
from backends import BACKENDS, Backend, random_drafts


@pytest.fixture(params=sorted(BACKENDS))
def backend(request, tmp_path) -> Backend:
    return BACKENDS[request.param](tmp_path)


@pytest.fixture(scope="module", params=sorted(BACKENDS))
def library(request, tmp_path_factory):
    """A backend with an index of 80 random documents: (backend, index name, drafts)."""
    backend = BACKENDS[request.param](tmp_path_factory.mktemp("library"))
    drafts = random_drafts(seed=7, count=80)
    return backend, backend.index([draft.entry() for draft in drafts]).index, drafts

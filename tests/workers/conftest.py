from __future__ import annotations

import pytest
from worlds import embedded_world, opensearch_world


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def world(request, tmp_path):
    if request.param == "embedded":
        yield embedded_world(tmp_path)
        return
    with opensearch_world(request.getfixturevalue("node").url) as made:
        yield made

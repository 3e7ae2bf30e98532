"""`medley status`: what it shows while documents are waiting, and the time left."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from encoders.cache import VectorStore, text_key
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.settings import Settings
from web.cli.commands.status import _forecasts, _span, collection_status
from web.cli.indexing import fill_quietly
from web.cli.main import cli
from workers.indexing.indexer import Indexer
from workers.indexing.rebuild import begin


def document(name: str) -> Document:
    return Document(name, "A title", (Section("", "Heart failure."),), frozenset({"public"}))


def opened(tmp_path: Path) -> Medley:
    medley = Medley.open(Settings(home=tmp_path, encoder=HASHING, reranker="none"))
    medley.collections.create("abstracts")
    return medley


def test_states_before_during_and_after_indexing(tmp_path):
    medley = opened(tmp_path)
    store = medley.collections.store("abstracts")
    store.put([document("a"), document("b")])
    nothing = {
        "collection": "abstracts",
        "kind": "abstracts",
        "documents": 2,
        "deleted": 0,
        "building": [],
        "damage": "",
    }
    assert collection_status(medley, "abstracts") == nothing | {
        "indexed": 0, "waiting": 2, "failed": 0, "passages": 0, "index": "",
    }  # fmt: skip
    fill_quietly(medley, "abstracts")
    store.put([document("c")])
    store.delete(["a"])
    state = collection_status(medley, "abstracts", failed=True)
    assert (state["documents"], state["deleted"], state["indexed"], state["waiting"]) == (2, 1, 1, 2)
    assert (state["index"], state["failures"]) == ("abstracts-1", [])


def test_an_index_that_workers_are_building_is_shown(tmp_path):
    medley = opened(tmp_path)
    medley.collections.store("abstracts").put([document("a"), document("b")])
    fill_quietly(medley, "abstracts")
    begin(Indexer.of(medley, "abstracts"))
    assert collection_status(medley, "abstracts")["building"] == [
        {"index": "abstracts-2", "indexed": 0, "waiting": 2, "failed": 0}
    ]


def test_the_time_left_follows_from_the_recent_rate():
    seen = [(10.0, {"notes": 900, "reports": 5}), (20.0, {"notes": 400, "reports": 5}), (20.0, {"notes": 400})]
    assert _forecasts(seen[:2]) == ["notes: 400 to go, 50.0 a second, 8 s left", "reports: 5 to go, no progress so far"]
    assert _forecasts([(1.0, {"notes": 3})]) == ["notes: 3 to go, no progress so far"]
    assert _forecasts([(1.0, {"notes": 3}), (2.0, {"notes": 0})]) == []
    assert [_span(seconds) for seconds in (0.4, 61, 3_700)] == ["0 s", "1 min 1 s", "1 h 1 min"]


@pytest.mark.parametrize(("bound", "line"), [("2000000", " of at most 2.0 MB"), ("0", " MB")])
def test_the_size_of_the_vector_cache_is_shown(tmp_path, monkeypatch, bound, line):
    monkeypatch.setenv("MEDLEY_HOME", str(tmp_path))
    monkeypatch.setenv("MEDLEY_VECTOR_CACHE_BYTES", bound)
    assert "vector cache" not in CliRunner().invoke(cli, ["status"]).stdout
    VectorStore(tmp_path / "vectors" / "a.sqlite", 384).put({text_key(str(n)): np.ones(384) for n in range(500)})
    size = (tmp_path / "vectors" / "a.sqlite").stat().st_size
    report = json.loads(CliRunner().invoke(cli, ["status", "--json"]).stdout)
    assert report == {"collections": [], "vector_cache": {"bytes": size, "bound": int(bound)}}
    last = CliRunner().invoke(cli, ["status"]).stdout.splitlines()[-1]
    assert last == f"vector cache: {size / 1e6:.1f}{line}"

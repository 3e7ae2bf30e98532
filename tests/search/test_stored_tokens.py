"""A search reranked by a poly-encoder over the token vectors that the index stores: which passages the model still reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_collections import abstract, fill
from test_poly import poly

from encoders.artifact import SCORER, Artifact, seal
from encoders.poly import PolyEncoder
from mappings.collection import load
from mappings.documents import Access
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.inspection import inspect
from workers.indexing.purge import purge
from workers.indexing.rebuild import rebuild

EVERYBODY = Access("tester", frozenset({"*"}))
DOCUMENTS = [
    abstract(f"d{number}", f"Trial {number}", f"Heart pain and aspirin {'abcdefgh'[number]}. " * (1 + number % 3), 2000)
    for number in range(8)
]
STAGES = """
[rerank]
model = "last"
candidates = 50
deadline_ms = 0
weight = 0.5
first = { model = "first", keep = 2, weight = 0.9 }
"""

Read = list[str]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """The passages that a poly-encoder reads."""
    seen: Read = []
    encode = PolyEncoder.encode_passages
    monkeypatch.setattr(PolyEncoder, "encode_passages", lambda self, texts: seen.extend(texts) or encode(self, texts))
    return seen


@pytest.fixture
def open_medley(tmp_path: Path) -> Callable[..., Medley]:
    """Opens one home; its abstracts are reranked by two poly-encoders, of which the first one is "first"."""
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    kind = (Path("mappings/collections/abstracts.toml")).read_text(encoding="utf-8")
    head, _, rest = kind.partition("[rerank]")
    (kinds / "abstracts.toml").write_text(
        head + STAGES + "[" + rest.partition("\n[")[2] if "\n[" in rest else head + STAGES
    )
    poly(tmp_path / "models/first", codes="tokens", basis=8)
    poly(tmp_path / "models/last", codes="vector")

    def make(**changes: str) -> Medley:
        settings = {"home": tmp_path / "home", "models": tmp_path / "models", "collections": kinds, "stance": "none"}
        return Medley.open(Settings(**{**settings, "encoder": "hashing-256", "form": "fp32", "threads": 1, **changes}))

    return make


def ask(medley: Medley, text: str = "heart pain") -> list[tuple[str, float]]:
    results = medley.search(Query(text=text, collection="abstracts", access=EVERYBODY, size=2))
    assert not results.degraded
    return [(hit.document, round(hit.score, 4)) for hit in results.hits]


def stored(medley: Medley) -> dict[str, bytes]:
    meta = medley.engine.resolve("abstracts")
    names = [f"{name}@{version}#0" for name, version, _ in medley.engine.contents(meta.index)]
    return dict(medley.engine.tokens(meta.index, names, EVERYBODY))


def test_the_first_stage_reads_no_passage_that_was_indexed(open_medley, read: Read) -> None:
    medley = open_medley()
    fill(medley, "abstracts", DOCUMENTS)
    assert len(read) == 8
    assert sorted(stored(medley)) == [f"d{number}@1#0" for number in range(8)]
    encoder = medley.models.token_encoder(medley.collections.get("abstracts"))
    assert medley.engine.resolve("abstracts").tokens == encoder.format
    read.clear()
    assert len(ask(medley)) == 2
    assert len(read) == 2  # by the last stage, a model of which the index stores nothing


def test_the_order_is_the_same_without_what_is_stored(open_medley, read: Read, monkeypatch) -> None:
    medley = open_medley()
    fill(medley, "abstracts", DOCUMENTS)
    expected = ask(medley)
    read.clear()
    another = open_medley()
    monkeypatch.setattr(another.engine, "tokens", lambda index, ids, access: {})
    assert ask(another) == expected
    assert len(read) == 10
    read.clear()
    third = open_medley()
    find = third.engine.tokens
    monkeypatch.setattr(
        third.engine, "tokens", lambda *asked: {k: v[:-1] for k, v in find(*asked).items() if "d1" not in k}
    )
    assert ask(third) == expected
    assert len(read) == 10


def test_a_reranker_of_the_settings_is_the_one_whose_vectors_are_stored(open_medley, read: Read) -> None:
    medley = open_medley(reranker="last")
    fill(medley, "abstracts", DOCUMENTS)
    read.clear()
    ask(medley)
    assert read == []
    assert medley.engine.resolve("abstracts").tokens.codec == "mean-8x1"


def test_nothing_is_stored_for_a_reranker_that_reads_parts(open_medley, tmp_path: Path) -> None:
    kind = tmp_path / "kinds/abstracts.toml"
    kind.write_text(kind.read_text().replace("weight = 0.5\n", "weight = 0.5\nparts = { words = 60, best = 2 }\n"))
    assert open_medley(reranker="last").models.token_encoder(load("abstracts", None, kind.parent)) is None
    first = open_medley().models.token_encoder(load("abstracts", None, kind.parent))
    assert first is not None
    assert first.fingerprint == Artifact.open(tmp_path / "models/first").fingerprint


@pytest.mark.parametrize("chosen", ["none", "medley-crossencoder"])
def test_without_a_poly_encoder_nothing_is_stored(open_medley, chosen: str) -> None:
    medley = open_medley(reranker=chosen)
    fill(medley, "abstracts", DOCUMENTS[:2])
    assert medley.engine.resolve("abstracts").tokens is None
    assert stored(medley) == {}


def test_another_model_falls_back_and_verify_says_so_until_a_rebuild(open_medley, read: Read, tmp_path: Path) -> None:
    fill(open_medley(), "abstracts", DOCUMENTS)
    folder = tmp_path / "models/first"
    np.save(folder / SCORER, np.load(folder / SCORER) * 2)
    seal(folder, json.loads((folder / "model.json").read_text()))
    assert Artifact.open(folder).kind == "poly-encoder"
    medley = open_medley()
    read.clear()
    ask(medley)
    assert len(read) == 10
    fill(medley, "abstracts", [abstract("new", "Trial", "Heart pain.", 2001)])  # ingestion goes on, without any
    assert "new@1#0" not in stored(medley)
    problems = [item.problem for item in inspect(Indexer.of(medley, "abstracts"))]
    assert [text for text in problems if "does not store the token vectors" in text]
    list(rebuild(Indexer.of(medley, "abstracts"), grace=0.0))
    assert len(stored(medley)) == 9
    assert inspect(Indexer.of(medley, "abstracts")) == []


def test_a_rebuild_takes_them_over_and_a_purge_keeps_only_those_of_live_passages(open_medley, read: Read) -> None:
    medley = open_medley()
    fill(medley, "abstracts", DOCUMENTS)
    before = stored(medley)
    medley.collections.store("abstracts").delete(["d3"])
    fill(medley, "abstracts", [abstract("d4", "Trial 4", "Heart pain, replaced.", 2000)])
    read.clear()
    purge(Indexer.of(medley, "abstracts", encoders={}), 2e9, grace=0.0)
    assert read == []
    now = stored(medley)
    assert now.keys() == before.keys() - {"d3@1#0", "d4@1#0"} | {"d4@2#0"}
    assert all(now[name] == before[name] for name in now.keys() & before.keys())
    folder = medley.settings.home / "collections/abstracts/indexes" / medley.engine.resolve("abstracts").index
    assert before["d3@1#0"] not in (folder / "tokens.bin").read_bytes()


def test_a_model_that_fails_or_is_missing_stops_no_document(open_medley, tmp_path: Path, monkeypatch) -> None:
    medley = open_medley()
    fill(medley, "abstracts", DOCUMENTS[:1])
    monkeypatch.setattr(PolyEncoder, "encode_passages", lambda self, texts: 1 / 0)
    fill(medley, "abstracts", DOCUMENTS[1:3])
    assert list(stored(medley)) == ["d0@1#0"]
    monkeypatch.undo()
    shutil.rmtree(tmp_path / "models/first")
    later = open_medley()
    later.collections.store("abstracts").put(DOCUMENTS[3:5])
    assert [item.cause for item in ingest(Indexer.of(later, "abstracts"))] == ["", ""]
    assert list(stored(later)) == ["d0@1#0"]


def test_damage_in_the_file_is_found(open_medley) -> None:
    medley = open_medley()
    fill(medley, "abstracts", DOCUMENTS)
    path = (
        medley.settings.home / "collections/abstracts/indexes" / medley.engine.resolve("abstracts").index / "tokens.bin"
    )
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    assert [item.text for item in medley.engine.file_problems(path.parent.name)] == [
        "tokens.bin differs from its checksum in the 1,048,576 bytes from byte 0"
    ]

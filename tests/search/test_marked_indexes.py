"""An index knows whether its vectors are marked, and is searched accordingly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from encoders.hashing import HashingEncoder
from encoders.marked import MarkedEncoder, mark_fingerprint
from mappings.collection import SHIPPED_KINDS, load
from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput
from mappings.marking import Marking
from search.bootstrap import Medley
from search.models.registry import HASHING, Models
from search.pipeline.search import search
from search.query import Query
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild

PLAIN = HashingEncoder()
READER = Access("reader", frozenset({"clinical"}))
SHIPPED = (SHIPPED_KINDS / "reports.toml").read_text(encoding="utf-8")
BY_VECTORS = SHIPPED.replace("{ bm25 = 0.3, dense = 0.7 }", "{ bm25 = 0.0, dense = 1.0 }")
UNMARKED = "\n".join(line for line in BY_VECTORS.splitlines() if not line.startswith("marking"))


def open_reports(settings: Settings, kind: str) -> Medley:
    """A Medley in which the kind `reports` is `kind`."""
    assert settings.collections is not None
    settings.collections.mkdir(exist_ok=True)
    (settings.collections / "reports.toml").write_text(kind, encoding="utf-8")
    return Medley.open(settings)


def index_reports(medley: Medley) -> Medley:
    texts = {"with": "There is pneumonia.", "without": "There is no pneumonia."}
    medley.collections.create("reports")
    medley.collections.store("reports").put(
        [Document(name, "", (Section("", text),), frozenset({"clinical"})) for name, text in texts.items()]
    )
    assert [item.cause for item in ingest(Indexer.of(medley, "reports"))] == ["", ""]
    return medley


def best(medley: Medley, text: str) -> str:
    results = search(Query("reports", READER, text), medley.services)
    assert results.degraded == ()
    return results.hits[0].document


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", encoder=HASHING, reranker="none", collections=tmp_path / "kinds")


def test_a_kind_decides_whether_its_encoders_mark(settings: Settings) -> None:
    models = Models(settings)
    found = models.encoders(load("reports"))["dense"]
    marking = load("reports").marking
    assert marking is not None
    assert found.fingerprint == mark_fingerprint(PLAIN.fingerprint, marking)
    assert models.encoders(load("abstracts"))["dense"].fingerprint == PLAIN.fingerprint


def test_an_encoder_is_found_with_the_marking_that_its_fingerprint_names(settings: Settings) -> None:
    models, text = Models(settings), ["No fever."]
    plain = models.find_encoder(PLAIN.fingerprint)
    marked = models.find_encoder(mark_fingerprint(PLAIN.fingerprint, Marking(1, 2)))
    assert plain is not None
    assert marked is not None
    np.testing.assert_array_equal(plain.encode_queries(text), PLAIN.encode_queries(text))
    np.testing.assert_array_equal(marked.encode_queries(text), MarkedEncoder(PLAIN, Marking(1, 2)).encode_queries(text))
    assert models.find_encoder(f"{PLAIN.fingerprint}+marking-0/reading-1:1:2") is None
    assert models.find_encoder(mark_fingerprint("unknown", Marking(1, 2))) is None


def test_a_marked_index_tells_with_from_without(settings: Settings) -> None:
    medley = index_reports(open_reports(settings, BY_VECTORS))
    for question, found in (("pneumonia", "with"), ("no pneumonia", "without"), ("negative for pneumonia", "without")):
        assert best(medley, question) == found


def test_an_index_is_searched_as_it_was_built_until_a_rebuild(settings: Settings) -> None:
    marked = mark_fingerprint(PLAIN.fingerprint, Marking(3, 3))
    medley = index_reports(open_reports(settings, UNMARKED))
    assert medley.engine.resolve("reports").encoders == {"dense": PLAIN.fingerprint}
    medley = open_reports(settings, BY_VECTORS)
    assert medley.engine.resolve("reports").encoders == {"dense": PLAIN.fingerprint}
    assert search(Query("reports", READER, "no pneumonia"), medley.services).degraded == ()
    list(rebuild(Indexer.of(medley, "reports"), grace=0))
    assert medley.engine.resolve("reports").encoders == {"dense": marked}
    assert best(medley, "no pneumonia") == "without"
    assert best(open_reports(settings, UNMARKED), "no pneumonia") == "without"


def test_an_index_with_marking_of_another_version_is_searched_by_words_only(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    medley = index_reports(open_reports(settings, BY_VECTORS))
    monkeypatch.setattr("encoders.marked.MARKING_VERSION", "marking-99")
    results = search(Query("reports", READER, "pneumonia"), medley.services)
    assert {hit.document for hit in results.hits} == {"with", "without"}
    (note,) = results.degraded
    assert "no encoder for 'dense'" in note
    assert note.endswith("`medley index rebuild reports` encodes it anew")
    assert f"{PLAIN.fingerprint[:12]}+marking-1/" in note


def test_a_kind_without_weight_for_what_is_ruled_out_is_refused(tmp_path: Path) -> None:
    for written, message in (
        ("{ stated = 1.0 }", "passages.marking.ruled_out is missing"),
        ("{ stated = 1.0, ruled_out = 0 }", "passages.marking.ruled_out must be greater than 0"),
        ("{ stated = -1, ruled_out = 1 }", "passages.marking.stated must be a number, 0 or more, not -1"),
        ("{ stated = 1, ruled_out = 1, past = 1 }", "passages.marking.past is not a known key"),
        ("true", "passages.marking must be a table"),
    ):
        (tmp_path / "own.toml").write_text(SHIPPED.replace("{ stated = 3.0, ruled_out = 3.0 }", written))
        with pytest.raises(InvalidInput, match=re.escape(message)):
            load("own", extra=tmp_path)

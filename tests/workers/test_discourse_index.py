"""Indexes with the leg `discourse`: filled, kept through rebuilds, switched on and off, and never from another document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from discourse_model import write_discourse_model

from encoders.discourse.reading import MOST_SENTENCES
from mappings.clinical.placing import read_passages
from mappings.collection import DISCOURSE
from mappings.documents import Document, Passage, Section
from mappings.errors import ModelError
from search.bootstrap import Medley
from search.settings import Settings
from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
from workers.indexing.ingest import ingest
from workers.indexing.inspection import inspect
from workers.indexing.rebuild import rebuild

NAME = "articles"
FIRST = ("Gout is joint pain.", "Allopurinol is treatment. Give rest.")
SECOND = ("Asthma is cough in the dust.", "Allopurinol is treatment. Give rest.")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    write_discourse_model(tmp_path / "models" / "by-words")
    return Settings(
        home=tmp_path / "home", models=tmp_path / "models", encoder="hashing-256", reranker="none", discourse="by-words"
    )


def article(name: str, texts: Sequence[str]) -> Document:
    sections = tuple(Section(f"Part {number}", text) for number, text in enumerate(texts))
    return Document(name, name.title(), sections, frozenset({"public"}), {"source": "test"})


def put(medley: Medley, *documents: Document) -> IndexingStatistics:
    medley.collections.create(NAME)
    medley.collections.store(NAME).put(documents)
    work = IndexingStatistics()
    outcomes = list(ingest(Indexer.of(medley, NAME, IndexingOptions(statistics=work))))
    assert [item.cause for item in outcomes] == [""] * len(outcomes)
    return work


def fingerprints(medley: Medley) -> dict[str, str]:
    return dict(medley.engine.resolve(NAME).encoders)


def passages_of(medley: Medley, document: str) -> tuple[Passage, ...]:
    stored = medley.collections.store(NAME).latest([document])[document]
    return read_passages(stored.document, stored.version, medley.collections.get(NAME), medley.collections.reader(NAME))


def held(medley: Medley, document: str) -> np.ndarray:
    """The first row of each passage of a document in the published index, shape (passages, d)."""
    own = passages_of(medley, document)
    found = medley.engine.vectors(medley.engine.resolve(NAME).index, own)
    return np.stack([found[item.id][DISCOURSE][0] for item in own])


def expected(medley: Medley, texts: Sequence[str]) -> np.ndarray:
    (read,) = medley.models.discourse.get("by-words").encode_documents([texts])
    return read.passage_vectors(len(texts))


def test_a_model_that_nobody_names_is_not_used(settings):
    medley = Medley.open(replace(settings, discourse=""))
    put(medley, article("gout", FIRST))
    assert set(fingerprints(medley)) == {"dense"}
    assert medley.models.discourse.names() == ["by-words"]


@pytest.mark.parametrize("named", ["setting", "kind", "path"])
def test_an_installation_or_a_kind_names_a_model(settings, tmp_path, named):
    if named == "kind":
        shipped = Path("mappings/collections/articles.toml").read_text(encoding="utf-8")
        (tmp_path / "kinds").mkdir()
        (tmp_path / "kinds" / "articles.toml").write_text(f'{shipped}\n[discourse]\nmodel = "by-words"\n')
        settings = replace(settings, discourse="", collections=tmp_path / "kinds")
    if named == "path":
        settings = replace(settings, discourse=str(tmp_path / "models" / "by-words"), models=None)
    medley = Medley.open(settings)
    put(medley, article("gout", FIRST))
    assert list(fingerprints(medley)) == ["dense", DISCOURSE]
    assert inspect(Indexer.of(medley, NAME)) == []
    off = Medley.open(replace(settings, discourse="none", home=tmp_path / "other"))
    put(off, article("gout", FIRST))
    assert set(fingerprints(off)) == {"dense"}


def test_the_vectors_of_a_document_are_those_of_its_newest_version(settings):
    medley = Medley.open(settings)
    put(medley, article("doc", FIRST))
    assert held(medley, "doc") == pytest.approx(expected(medley, FIRST), abs=1e-3)
    put(medley, article("doc", SECOND))  # the second passage is as before
    now = held(medley, "doc")
    assert now == pytest.approx(expected(medley, SECOND), abs=1e-3)
    assert np.abs(now[1] - expected(medley, FIRST)[1]).max() > 0.05


def test_a_rebuild_takes_no_vector_from_a_document_that_was_split_otherwise(settings, tmp_path):
    text = Path("mappings/collections/articles.toml").read_text(encoding="utf-8")
    (tmp_path / "kinds").mkdir()
    kind = tmp_path / "kinds" / "articles.toml"
    kind.write_text(text)
    settings = replace(settings, collections=tmp_path / "kinds")
    long = ("Gout is joint pain of the urate in the joint.", "Give rest.")
    put(Medley.open(settings), article("doc", long))
    kind.write_text(text.replace("max_words = 220", "max_words = 6"))
    medley = Medley.open(settings)
    before = medley.engine.resolve(NAME).index
    assert not [item.cause for item in rebuild(Indexer.of(medley, NAME), grace=0.0) if item.cause]
    meta = medley.engine.resolve(NAME)
    assert (meta.index != before, meta.passages > 2, list(meta.encoders)) == (True, True, ["dense", DISCOURSE])
    assert inspect(Indexer.of(medley, NAME)) == []
    texts = [item.text for item in passages_of(medley, "doc")]
    assert held(medley, "doc") == pytest.approx(expected(medley, texts), abs=1e-3)


def test_a_rebuild_keeps_the_leg_and_fills_it(settings):
    medley = Medley.open(settings)
    put(medley, article("gout", FIRST), article("asthma", SECOND))
    list(rebuild(Indexer.of(medley, NAME), grace=0.0))
    assert list(fingerprints(medley)) == ["dense", DISCOURSE]
    for name, texts in (("gout", FIRST), ("asthma", SECOND)):
        assert held(medley, name) == pytest.approx(expected(medley, texts), abs=1e-3)


def test_switched_on_or_off_an_index_keeps_what_it_has_until_it_is_rebuilt(settings):
    plain = Medley.open(replace(settings, discourse=""))
    put(plain, article("gout", FIRST))
    on = Medley.open(settings)
    put(on, article("asthma", SECOND))
    assert set(fingerprints(on)) == {"dense"}
    assert ["discourse" in item.problem for item in inspect(Indexer.of(on, NAME))] == [True]
    list(rebuild(Indexer.of(on, NAME), grace=0.0))
    assert set(fingerprints(on)) == {"dense", DISCOURSE}
    off = Medley.open(replace(settings, discourse="none"))
    put(off, article("late", FIRST))
    assert held(off, "late") == pytest.approx(expected(on, FIRST), abs=1e-3)
    list(rebuild(Indexer.of(off, NAME), grace=0.0))
    assert set(fingerprints(off)) == {"dense"}


def test_another_model_fills_new_indexes_alone(settings, tmp_path):
    put(Medley.open(settings), article("gout", FIRST))
    write_discourse_model(tmp_path / "models" / "other", "other", seed=9)
    medley = Medley.open(replace(settings, discourse="other"))
    put(medley, article("asthma", SECOND))
    assert held(medley, "asthma") == pytest.approx(expected(medley, SECOND), abs=1e-3)
    list(rebuild(Indexer.of(medley, NAME), grace=0.0))
    assert np.abs(held(medley, "asthma") - expected(medley, SECOND)).max() > 0.05


@pytest.mark.parametrize("fault", ["removed", "damaged"])
def test_an_index_is_not_filled_without_the_model_that_began_it(settings, tmp_path, fault):
    put(Medley.open(settings), article("gout", FIRST))
    if fault == "removed":
        (tmp_path / "models" / "by-words").rename(tmp_path / "elsewhere")
    else:
        (tmp_path / "models" / "by-words" / "documents.onnx").write_bytes(b"")
    medley = Medley.open(replace(settings, discourse=""))
    medley.collections.store(NAME).put([article("asthma", SECOND)])
    with pytest.raises(ModelError, match="built with the discourse encoder"):
        list(ingest(Indexer.of(medley, NAME)))
    assert len(medley.collections.store(NAME).pending(medley.engine.resolve(NAME).index, 10)) == 1
    with pytest.raises(ModelError, match=r"by-words|documents"):
        Indexer.of(Medley.open(settings), NAME)


def test_long_documents_are_cut_and_counted(settings):
    medley = Medley.open(settings)
    many = tuple(" ".join(f"Rest number {n} is treatment." for n in range(50)) for _ in range(100))
    work = put(medley, article("long", many), article("gout", FIRST), article("bare", ("",)))
    assert (work.cut, work.unread) == (1, 5_000 - MOST_SENTENCES)
    meta = medley.engine.resolve(NAME)
    assert meta.by_words == 0

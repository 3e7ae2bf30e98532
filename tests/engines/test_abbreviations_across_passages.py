from mappings.analysis.words import terms
from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest


def test_a_passage_is_found_by_a_long_form_it_does_not_say(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    sections = (
        Section("HPI", "Followed for zonal retinal dysplasia (ZRD)."),
        Section("PLAN", "Refer the ZRD to clinic."),
    )
    medley.collections.store("notes").put([Document("n1", "Eye clinic", sections, frozenset({"clinical"}))])
    list(ingest(Indexer.of(medley, "notes")))
    index, access = medley.engine.resolve("notes").index, Access("a", frozenset({"clinical"}))
    request = LegsRequest(index, LexicalQuery(tuple((term, 1.0) for term in terms("dysplasia"))), {}, access, 10)
    assert {item.passage for item in medley.engine.legs(request).rankings["bm25"]} == {"n1@1#0", "n1@1#1"}
    assert "dysplasia" not in medley.engine.passages(index, ["n1@1#1"], access)["n1@1#1"].text

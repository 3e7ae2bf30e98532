"""The values of a field with the documents that have them, as the caller may see them."""

from __future__ import annotations

from collections import Counter

import contract_reference as reference
import pytest
from backends import EVERYBODY, LABELS, Backend, Draft
from clinical_lexicon import small_lexicon
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.clinical.placing import keys_of, read_passages
from mappings.clinical.reading import ConceptReader
from mappings.collection import load
from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput, NotFound
from search.engines.values import FACET_VALUES
from search.protocols import IndexEntry

relaxed = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
accesses = st.builds(Access, st.just("someone"), st.frozensets(st.sampled_from((*LABELS, "unknown", "*"))))
PUBLIC = Access("reader", frozenset({"public"}))


@given(access=accesses, withheld=st.lists(st.integers(0, 90).map(lambda number: f"doc/{number}@x#y"), max_size=20))
@relaxed
def test_values_count_exactly_the_documents_that_the_caller_may_see(library, access, withheld):
    backend, index, drafts = library
    allowed = [item for item in reference.visible(drafts, access) if item.id not in withheld]
    for name in ("journal", "year", "published"):
        counted = backend.engine.values(index, name, access, withheld)
        assert dict(counted) == dict(reference.facet(allowed, name))


def test_values_are_not_cut_like_facets(backend: Backend):
    names = {f"journal {number}": 1 for number in range(3 * FACET_VALUES)}
    meta = backend.index([Draft(f"d{name}", ["heart"], fields={"journal": name}).entry() for name in names])
    assert dict(backend.engine.values(meta.index, "journal", EVERYBODY)) == names


def test_a_field_without_values_an_unknown_one_and_an_unknown_index(backend: Backend):
    meta = backend.index([])
    assert dict(backend.engine.values(meta.index, "journal", EVERYBODY)) == {}
    assert dict(backend.engine.values(meta.index, "aspects", EVERYBODY)) == {}
    with pytest.raises(InvalidInput, match="no field 'colour'"):
        backend.engine.values(meta.index, "colour", EVERYBODY)
    with pytest.raises(NotFound):
        backend.engine.values("abstracts-99", "journal", EVERYBODY)


def test_a_document_counts_once_under_its_newest_version(backend: Backend):
    old = Draft("a", ["heart", "lung"], fields={"journal": ("BMJ", "Lancet")})
    meta = backend.index([old.entry(), Draft("b", ["heart"], fields={"journal": "BMJ"}).entry()])
    assert dict(backend.engine.values(meta.index, "journal", PUBLIC)) == {"BMJ": 2, "Lancet": 1}
    backend.write(meta.index, [Draft("a", ["lung"], fields={"journal": "JAMA"}, version=2).entry()])
    assert dict(backend.engine.values(meta.index, "journal", PUBLIC)) == {"BMJ": 1, "JAMA": 1}
    backend.write(meta.index, [], ["b"])
    assert dict(backend.engine.values(meta.index, "journal", PUBLIC)) == {"JAMA": 1}


def test_aspects_and_concepts_count_documents_not_passages(backend: Backend, tmp_path):
    lexicon = small_lexicon(tmp_path / "lexicon")
    reader = ConceptReader(lexicon)

    def read(identifier: str, label: str, *sections: tuple[str, str]) -> IndexEntry:
        document = Document(identifier, "", tuple(Section(*item) for item in sections), frozenset({label}))
        passages = read_passages(document, 1, load("articles"), reader)
        asserted = tuple(keys_of(item, lexicon) for item in passages)
        vectors = Draft(identifier, [item.text for item in passages]).entry().vectors
        return IndexEntry(identifier, 1, frozenset({label}), {}, passages, vectors, asserted=asserted)

    entries = [
        read("a", "public", ("RESULTS", "Lobar pneumonia. " * 100), ("METHODS", "No fever. Pneumonia. " * 80)),
        read("b", "public", ("Main results", "No lobar pneumonia and no fever."), ("H" * 250, "Warfarin.")),
        read("c", "secret", ("Zebra findings", "Maxillary sinusitis."), ("", "Mediastinitis.")),
    ]
    assert len(entries[0].passages) > 2
    meta = backend.index(entries)
    aspects = backend.engine.values(meta.index, "aspects", PUBLIC)
    assert dict(aspects) == {"results": 2, "methods": 1}
    concepts = backend.engine.values(meta.index, "concepts", PUBLIC)
    # Wider concepts too, also those of what is ruled out.
    assert dict(concepts) == {"lobar-pneumonia": 2, "pneumonia": 2, "lung-disease": 2, "fever": 2, "warfarin": 1}
    everything = Counter(backend.engine.values(meta.index, "concepts", EVERYBODY))
    assert everything - Counter(concepts) == {"maxillary-sinusitis": 1, "mediastinitis": 1}
    assert backend.engine.values(meta.index, "aspects", EVERYBODY)["zebra findings"] == 1
    assert dict(backend.engine.values(meta.index, "concepts", PUBLIC, ["a"])) == {
        "lobar-pneumonia": 1,
        "pneumonia": 1,
        "lung-disease": 1,
        "fever": 1,
        "warfarin": 1,
    }

"""What look-ups are made from: a collection of the home or, without a name, a corpus of each of the four kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from encoders.labels.split import is_test_note
from evaluation.corpus.abstracts import LABELS
from evaluation.suites import scifact
from evaluation.task import SAMPLE_SEED, Corpus
from mappings import collection as kinds
from mappings.datasets.indiana_cxr import read_reports
from mappings.datasets.medquad import read_articles
from mappings.datasets.mtsamples import read_notes
from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.engines import codec
from search.settings import Settings

SAMPLE: Final = 1_000
"""Articles and reports that are indexed: no other suite has an index of them, and encoding them takes minutes."""


@dataclass(frozen=True, slots=True)
class LookupCorpus:
    """A corpus of one kind, and what it is made of."""

    corpus: Corpus
    note: str


def corpora(settings: Settings) -> list[LookupCorpus]:
    """SciFact's abstracts and the test notes of MTSamples, as their suites index them; samples of articles and reports."""
    return [
        LookupCorpus(Corpus("scifact", "abstracts", lambda: scifact.corpus(settings)), "the abstracts of SciFact"),
        LookupCorpus(Corpus("notes", "notes", lambda: _notes(settings)), "the test side of MTSamples"),
        LookupCorpus(
            Corpus("lookups-articles", "articles", lambda: _sampled(_articles(settings))),
            f"a fixed sample of at most {SAMPLE:,} articles of MedQuAD",
        ),
        LookupCorpus(
            Corpus("lookups-reports", "reports", lambda: _sampled(_reports(settings))),
            f"a fixed sample of at most {SAMPLE:,} chest X-ray reports of Indiana University",
        ),
    ]


def _notes(settings: Settings) -> Iterator[Document]:
    collection = kinds.load("notes", None, settings.collections)
    return (note.document(collection) for note in read_notes(settings.data) if is_test_note(note.id))


def _articles(settings: Settings) -> Iterator[Document]:
    for article in read_articles(settings.data):
        sections = tuple(Section("", passage.text) for passage in article.passages if passage.text.strip())
        if sections:
            yield Document(article.id, article.title, sections, LABELS)


def _reports(settings: Settings) -> Iterator[Document]:
    for report in read_reports(settings.data):
        written = (("Findings", report.findings), ("Impression", report.impression))
        sections = tuple(Section(heading, text) for heading, text in written if text.strip())
        if sections:
            yield Document(f"cxr{report.id}", "", sections, LABELS)


def _sampled(documents: Iterable[Document]) -> list[Document]:
    """A fixed sample, in the order of ids; of documents that share an id, the first."""
    found: dict[str, Document] = {}
    for document in documents:
        found.setdefault(document.id, document)
    chosen = Random(SAMPLE_SEED).sample(sorted(found), min(SAMPLE, len(found)))  # noqa: S311
    return [found[identifier] for identifier in sorted(chosen)]


def stored(medley: Medley, name: str) -> list[Document]:
    """The documents of a collection that can be found: those with an access label.

    Raises `NotFound` for an unknown collection, `InvalidInput` for one without such a document, `Damaged`.
    """
    found = [codec.load(item.content) for item in medley.collections.store(name).export() if item.content is not None]
    visible = [document for document in found if document.labels]
    if not visible:
        missing = "documents with an access label" if found else "documents"
        raise InvalidInput(f"the collection {name!r} has no {missing}: there is nothing to look up", field="collection")
    return visible


def waiting(medley: Medley, name: str) -> int:
    """How many changes of a collection its published index lacks. Raises `NotFound` without an index."""
    index = medley.engine.resolve(name).index
    return medley.collections.store(name).counts(index).waiting


def decided_by(medley: Medley, name: str) -> Mapping[str, object]:
    """What decides the answers of a collection's published index, beside its documents."""
    meta = medley.engine.resolve(name)
    return {"encoders": dict(meta.encoders), "analysis": meta.analysis, "windows": meta.windows}

"""Invented documents and a home with them, for the tests of the suite `lookups`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evaluation.corpus.indexing import index_all
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.settings import Settings

LABELS = frozenset({"public"})


def document(identifier: str, title: str, text: str, **fields: str) -> Document:
    return Document(identifier, title, (Section("Results", text),), LABELS, fields)


ABSTRACTS = (
    document("a1", "Zelvastatin after a stroke", "Zelvastatin lowered the risk of heart failure.", pmid="90001"),
    document("a2", "Breathing at night", "Shortness of breath woke a third of them. AD was rare.", pmid="90002"),
    document("a3", "Memory in old age", "Alzheimer's disease was found early.", pmid="90003"),
    document("a4", "Itching skin", "Atopic dermatitis improved; an ad in a paper had invited them.", pmid="90004"),
    document("a5", "Breath and its shortness", "Failure of the heart, MI and myocardial infarctions.", pmid="90005"),
    document("a6", "Cells", "The short breath of a failing heart. Zelvastatins did not help.", pmid="90006"),
)
"""Of the kind abstracts."""
NOTES = (
    document("n1", "Visit", "A cough since Monday.", patient="p1", encounter="e71"),
    document("n2", "Visit", "The cough is gone, a rash came.", patient="p1", encounter="e72"),
    document("n3", "Consult", "A rash after penicillin.", patient="p2", encounter="e73"),
    document("n4", "Letter", "No complaint."),
)
"""Of the kind notes: two patients, and a note without one."""


def settings(folder: Path) -> Settings:
    return replace(Settings(), home=folder / "home", encoder="hashing-256", reranker="none")


def indexed(folder: Path, name: str, kind: str, documents: tuple[Document, ...]) -> Medley:
    """A home whose collection `name` has these documents."""
    medley = Medley.open(settings(folder))
    medley.collections.create(name, kind)
    medley.collections.store(name).put(documents)
    index_all(medley, name)
    return medley

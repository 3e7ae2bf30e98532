"""The bench of a move to another encoder, on the embedded engine: searches and arriving documents notice nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.bench import swap as bench_swap
from mappings.documents import Document, Section
from search.settings import Settings


@pytest.mark.slow
def test_a_move_loses_no_document_and_fails_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_swap, "ALONE_SECONDS", 0.5)
    documents = [
        Document(f"d{number}", f"Drug {number}", (Section("", "It helps against pain."),), frozenset({"public"}), {})
        for number in range(42)
    ]
    report = bench_swap.swap(Settings(home=tmp_path), documents, [f"Drug {number}" for number in range(10)])
    figures = report["figures"]
    assert report["bench"] == "swap"
    assert (figures["documents_before"], figures["documents_after"]) == (30, 42)
    names = ("documents_missing", "failed_searches", "foreign_vectors", "degraded_searches", "findings")
    assert {name: figures[name] for name in names} == dict.fromkeys(names, 0)
    assert figures["indexes_seen"] == 2

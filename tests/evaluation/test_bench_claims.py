"""The bench of pages that are read for claims, whole, on a small collection."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from claims_home import MODEL, claims_settings

from evaluation.bench.claims import bench_claims


@pytest.mark.slow
def test_the_whole_report(tmp_path: Path) -> None:
    data = tmp_path / "data"
    names = [f"drug{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(60)]
    abstracts = [{"cord_id": name, "title": "", "abstract": [f"We gave {name}.", f"{name} helped."]} for name in names]
    claims = [
        {
            "id": name,
            "claim": f"A new trial says that {name} prevents strokes in most adults over 60.",
            "cord_id": name,
            "label": "SUPPORT",
            "evidence_set": [{"sent_index": 1}],
        }
        for name in names
    ]
    pool = [{"doc_id": "p", "title": "Pool", "sections": [{"label": "", "text": "Strokes of adults."}]}]
    for name, records in (
        ("check_covid/corpus", abstracts),
        ("check_covid/claims_dev", claims),
        ("abstracts/abstracts", pool),
    ):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    settings = replace(claims_settings(tmp_path / "models"), data=data, home=tmp_path / "home", stance=MODEL)
    report = bench_claims(settings)
    figures = report["figures"]
    assert report["bench"] == "claims"
    assert (figures["plain_queries"], figures["queries"], figures["deadline_ms"]) == (10, 10, 500)
    assert figures["read_share"] == 1
    assert figures["reranked_share"] == 0
    assert figures["over_deadline_ms"] == pytest.approx(figures["p95_ms"] - 500, abs=0.01)
    assert figures["batch_seconds"] > 0

"""Our analysis and the cluster's give the same words, and both engines the same ranking."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from backends import COLLECTION, ENCODERS, EVERYBODY, clear, embedded, opensearch

from mappings.analysis.passages import passages
from mappings.analysis.words import tokens
from mappings.documents import Document, Section
from mappings.indexes import TEXT
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry, LegsRequest
from search.query import LexicalQuery, Query
from search.understanding.understand import understand

pytestmark = pytest.mark.opensearch

DEMO = Path(__file__).parents[2] / "web" / "demo"
TEXTS = [
    "Alzheimer’s disease and IL-6: p53-mutant, 2.5 mg/kg, 1,000 patients; the patients' HbA1c wasn't lowered.",
    "Überempfindlichkeit naïve café β-Blocker ΑΣ straße Ωmega-3 CO₂ H2O ½ x² 10⁻³",
    "e.g. U.S. 3.14.15 a_b foo.bar 1.a a:b 12:30 don't o'clock rock 'n' roll l’été",
    "fever, chills & night-sweats (no cough) - SpO2: 98% on RA; T 38.5°C; BP 120/80",
    "한국어 日本語 カタカナ ไทย אבג مرحبا",
    "generalization generalized relational flies dying skies news howe proceed succeed internal",
    "",
    "x" * 600,
    "Curosurf® versus Survanta™: © 2006 The Endocrine Society ☎ 1 → 2 ✓ done 🇬🇧 👩‍⚕️ heart❤️attack a™b",
    "He added that adding 5 mg erred; egged on, the tide ebbing",
]


@pytest.fixture(scope="module")
def cluster(node):
    backend = opensearch(node.url)
    index = backend.index([]).index
    yield backend, backend.engine.describe(index).physical
    clear(backend)


def demo(name: str) -> list[dict]:
    return [json.loads(line) for line in (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def texts_of(record: dict) -> list[str]:
    sections = record.get("sections") or [{"heading": "", "text": record.get("text", "")}]
    return [record.get("title", ""), *(text for item in sections for text in (item["heading"], item["text"]))]


def analysed(backend, physical: str, text: str) -> list[tuple[str, int]]:
    found = backend.engine.cluster.read("POST", f"/{physical}/_analyze", {"analyzer": TEXT, "text": text})
    return [(item["token"], item["position"]) for item in found["tokens"]]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_words_of_hard_texts_are_the_same(cluster, text):
    assert analysed(*cluster, text) == [(token.term, token.position) for token in tokens(text)]


def test_words_of_the_demo_are_the_same(cluster):
    for record in demo("abstracts")[:40] + demo("notes")[:40]:
        for text in texts_of(record):
            assert analysed(*cluster, text) == [(token.term, token.position) for token in tokens(text)]


def entries() -> list[IndexEntry]:
    """The demo's abstracts, every third one without a title, with made-up vectors."""
    numbers = np.random.default_rng(5)
    made = []
    for place, record in enumerate(demo("abstracts")):
        sections = record.get("sections") or [{"heading": "", "text": record["text"]}]
        document = Document(
            record["id"],
            "" if place % 3 == 0 else record["title"],
            tuple(Section(item["heading"], item["text"]) for item in sections),
            frozenset({"public"}),
        )
        pieces = passages(document, 1, COLLECTION)
        vectors = numbers.standard_normal((len(pieces), 8)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        made.append(IndexEntry(document.id, 1, document.labels, {}, pieces, {"dense": vectors}))
    return made


def test_both_engines_give_the_same_scores_in_the_same_order(cluster, tmp_path):
    ours, theirs = embedded(tmp_path), cluster[0]
    asked = [(backend.engine, backend.index(entries(), publish=False).index) for backend in (ours, theirs)]
    numbers = np.random.default_rng(6)
    titles = [record["title"] for record in demo("abstracts")]
    for one, other in pairwise(titles):
        query = understand(Query(COLLECTION.name, EVERYBODY, f"{one} {other}"))
        vector = numbers.standard_normal(8).astype(np.float32)
        answers = [
            engine.legs(LegsRequest(index, query.lexical, {"dense": vector / np.linalg.norm(vector)}, EVERYBODY, 100))
            for engine, index in asked
        ]
        for leg in ("bm25", *ENCODERS):
            first, second = (answer.rankings[leg] for answer in answers)
            assert [item.passage for item in first] == [item.passage for item in second]
            scores = [[item.score for item in ranking] for ranking in (first, second)]
            assert scores[0] == pytest.approx(scores[1], rel=2e-5, abs=2e-4)
        assert answers[0].total == answers[1].total


CLOSE = [(f"small{number}", 0.00003 * 2**number) for number in range(6)]
"""Words of so little weight that all of them add less to a score than a hundredth of what another word gives."""


def close_entries() -> list[IndexEntry]:
    """Of passages of one length 64 that score a little more than 24 others, to which their titles add more than that.

    300 others are without the words.
    """
    texts = {f"d{number:02}": (f"Heart {'rest ' * 9}", ["rest"] * 20) for number in range(24)}
    for number in range(24, 88):
        words = ["heart", *(word for bit, (word, _) in enumerate(CLOSE) if number >> bit & 1)]
        texts[f"d{number:02}"] = ("", words + ["rest"] * (30 - len(words)))
    texts |= {f"e{number:03}": ("", ["rest"] * 30) for number in range(300)}
    made = []
    for name, (title, words) in texts.items():
        document = Document(name, title, (Section("", f"None here. Only {' '.join(words)}."),), frozenset({"public"}))
        made.append(IndexEntry(name, 1, document.labels, {}, passages(document, 1, COLLECTION), {}))
    return made


@pytest.mark.parametrize("shards", [1, 3])
def test_the_first_are_first_also_where_what_titles_add_decides(cluster, tmp_path, shards):
    """The engine finds hits by the greater of two scores, of which a title's hundredth can lift more than are fetched."""
    kind = replace(COLLECTION, shards=shards)
    ours, theirs = (
        embedded(tmp_path),
        replace(cluster[0], engine=OpenSearchEngine(cluster[0].engine.cluster, lambda _: kind)),
    )
    lexical = LexicalQuery((("heart", 1.0), *CLOSE))
    found = []
    for backend in (ours, theirs):
        index = backend.index(close_entries(), publish=False).index
        found.append(backend.engine.legs(LegsRequest(index, lexical, {}, EVERYBODY, 5)).rankings["bm25"])
    assert theirs.engine.describe(index).shards == shards
    assert [item.document for item in found[0]] == [f"d{number:02}" for number in range(5)]
    assert [(item.document, item.score) for item in found[1]] == [
        (item.document, pytest.approx(item.score, rel=2e-5, abs=2e-4)) for item in found[0]
    ]

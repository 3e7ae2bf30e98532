"""Claims and press releases with the abstracts behind them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from encoders.labels.leaks import Twins
from encoders.labels.pairs import Pair, Text
from encoders.labels.records import Record, records
from encoders.labels.split import split_of

DECIDED = ("SUPPORT", "REFUTE")
SAME_CLAIM = 0.6
"""Two claims that share this part of their words (Jaccard) say the same or its opposite: one story, one side."""


def abstract_text(record: Record, identifier: str) -> Text:
    """A corpus record of sentence lists as a passage."""
    return Text(str(record[identifier]), record["title"], "", " ".join(record["abstract"]))


def scifact_corpus(data: Path) -> list[Text]:
    """The 5,183 abstracts of SciFact."""
    return [abstract_text(record, "doc_id") for record in records(data, "scifact/corpus.jsonl.gz")]


def cited_in_development(data: Path) -> frozenset[str]:
    """The ids of the SciFact abstracts that a development claim cites."""
    claims = records(data, "scifact/claims_dev.jsonl.gz")
    return frozenset(str(doc) for r in claims for doc in (*r["cited_doc_ids"], *r["evidence"]))


def scifact_records(data: Path) -> list[Record]:
    """The abstracts of SciFact that no development claim cites, in the form of the abstracts pool's records."""
    cited = cited_in_development(data)
    return [
        {
            "doc_id": f"scifact:{record['doc_id']}",
            "title": record["title"],
            "sections": [{"label": "", "text": " ".join(record["abstract"])}],
        }
        for record in records(data, "scifact/corpus.jsonl.gz")
        if str(record["doc_id"]) not in cited
    ]


def check_covid_corpus(data: Path) -> list[Text]:
    """The 347 abstracts of Check-COVID."""
    return [abstract_text(record, "cord_id") for record in records(data, "check_covid/corpus.jsonl.gz")]


def scifact(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Training claims with every abstract they cite.

    Cited abstracts without annotated evidence count: they are what the claim was written about, and what the
    published retrieval judgements call relevant. Claims that nearly repeat a development claim are dropped.
    """
    corpus = {text.id: text for text in scifact_corpus(data)}
    guarded = Twins((r["claim"] for r in records(data, "scifact/claims_dev.jsonl.gz")), 1, SAME_CLAIM)
    for record in records(data, "scifact/claims_train.jsonl.gz"):
        relevant = tuple(sorted({*map(str, record["cited_doc_ids"]), *record["evidence"]} & corpus.keys()))
        if record["claim"] in guarded:
            dropped["scifact claims near a development claim"] += 1
            continue
        for document in relevant:
            group = f"scifact:{relevant[0]}"
            name = f"scifact:{record['id']}:{document}"
            yield Pair("scifact", name, group, split_of(group), "scifact", record["claim"], relevant, corpus[document])


def check_covid(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """News claims with the abstract that supports or refutes them; near-twins of development claims are dropped."""
    corpus = {text.id: text for text in check_covid_corpus(data)}
    guarded = Twins((r["claim"] for r in records(data, "check_covid/claims_dev.jsonl.gz")), 1, SAME_CLAIM)
    for record in records(data, "check_covid/claims_train.jsonl.gz"):
        document = record["cord_id"]
        if record["label"] not in DECIDED or document not in corpus:
            continue
        if record["claim"] in guarded:
            dropped["check-covid claims near a development claim"] += 1
            continue
        group = f"check-covid:{document}"
        name = f"check-covid:{record['id']}"
        yield Pair(
            "check-covid", name, group, split_of(group), "check-covid", record["claim"], (document,), corpus[document]
        )


def press_corpus(data: Path) -> list[Text]:
    """The abstracts' conclusions of the training half of the press releases."""
    found = records(data, "press_releases/insciout_train.jsonl.gz")
    return [Text(f"press:{r['original_file_id']}", "", "", r["abstract_conclusion"]) for r in found]


def press(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Press-release sentences with the conclusion they report, of the training half."""
    guarded = Twins((r["abstract_conclusion"] for r in records(data, "press_releases/insciout_test.jsonl.gz")), 3, 0.5)
    found = records(data, "press_releases/insciout_train.jsonl.gz")
    for record, text in zip(found, press_corpus(data), strict=True):
        if text.text in guarded:
            dropped["press pairs near a test pair"] += 1
            continue
        yield Pair(
            "press", text.id, text.id, split_of(text.id), "press", record["press_release_conclusion"], (text.id,), text
        )

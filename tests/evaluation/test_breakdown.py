"""Breakdowns by source, aspect and first hit: exact JSON, what an error is called, the tables, and the suite that has them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from test_tasks import write

from evaluation import rows, stages
from evaluation.baselines import papers
from evaluation.breakdown.first_hits import Topic, TopicBreakdown
from evaluation.breakdown.page import breakdown_markdown
from evaluation.breakdown.repetition import find_boilerplate
from evaluation.reporting import reports
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.suites import medquad
from search.settings import Settings

COLLECTED = "These figures come from the registry of rare conditions and were collected by hand."
TEXTS = {
    "GARD_1-1": "Gout is a form of arthritis.",
    "GARD_1-2": f"Pain of the toe. {COLLECTED}",
    "GHR_2-1": "Spastic paraplegia of the eighth type weakens the legs over many slow years.",
    "GHR_2-2": COLLECTED,
    "GHR_3-1": "Another spastic paraplegia that begins in childhood and weakens legs as well.",
    "GHR_3-2": f"{COLLECTED} Stiff legs.",
}
PASSAGES = {
    "GARD_1-1": Topic("Gout", "information", "GARD"),
    "GARD_1-2": Topic("gout", "symptoms", "GARD"),
    "GHR_2-1": Topic("Spastic paraplegia type 8", "information", "GHR"),
    "GHR_2-2": Topic("Spastic paraplegia type 8", "symptoms", "GHR"),
    "GHR_3-1": Topic("Spastic paraplegia type 11", "information", "GHR"),
    "GHR_3-2": Topic("Spastic paraplegia type 11", "symptoms", "GHR"),
}
QUERIES = {
    "q1": Topic("gout", "information", "GARD"),
    "q2": Topic("Gout", "symptoms", "GARD"),
    "q3": Topic("spastic paraplegia, type 8", "information", "GHR"),
    "q4": Topic("spastic paraplegia type 11", "symptoms", "GHR"),
    "q5": Topic("spastic paraplegia type 11", "information", "GHR"),
}
JUDGED = {
    "q1": {"GARD_1-1": 1},
    "q2": {"GARD_1-2": 1},
    "q3": {"GHR_2-1": 1},
    "q4": {"GHR_3-2": 1},
    "q5": {"GHR_3-1": 1},
}
RUN = {
    "q1": ["GARD_1-1"],
    "q2": ["GARD_1-1", "GARD_1-2"],
    "q3": ["GHR_3-1", "GHR_2-1"],
    "q4": ["GHR_2-2", "GHR_3-1"],
    "q5": [],
}
BREAKDOWN = TopicBreakdown(QUERIES, PASSAGES, TEXTS)


def estimate(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


def group(name: str, queries: int, first: dict[str, float], tenth: dict[str, float]) -> dict[str, Any]:
    return {"name": name, "queries": queries, "measures": {"Success@1": first, "Success@10": tenth}}


def kind(name: str, queries: int, share: dict[str, float], *examples: tuple[str, str]) -> dict[str, Any]:
    found = [{"query": query, "first": first} for query, first in examples]
    return {"name": name, "queries": queries, "share": share, "examples": found}


ALL, NONE, HALF = estimate(1, 1, 1), estimate(0, 0, 0), estimate(0.5, 0, 1)
QUARTER = estimate(0.25, 0, 0.75)
DESCRIBED = {
    "system": "har, entity + aspect",
    "sources": [
        group("GHR", 3, NONE, estimate(0.333333, 0, 1)),
        group("GARD", 2, HALF, ALL),
    ],
    "aspects": [
        group("information", 3, estimate(0.333333, 0, 1), estimate(0.666667, 0, 1)),
        group("symptoms", 2, NONE, HALF),
    ],
    "matches": {"entity": estimate(0.4, 0, 0.8), "aspect": estimate(0.6, 0.2, 1)},
    "errors": {
        "queries": 4,
        "kinds": [
            kind("same entity, other aspect", 1, QUARTER, ("q2", "GARD_1-1")),
            kind("other entity, same aspect", 2, estimate(0.5, 0, 1), ("q3", "GHR_3-1"), ("q4", "GHR_2-2")),
            kind("no hit", 1, QUARTER, ("q5", "")),
        ],
        "marks": [
            kind("related entity", 2, estimate(0.5, 0, 1), ("q3", "GHR_3-1"), ("q4", "GHR_2-2")),
            kind("boilerplate", 1, QUARTER, ("q4", "GHR_2-2")),
        ],
    },
}
PAGE = """<details>
<summary>By source, by aspect, and what is wrong with first hits (3 tables)</summary>

### har, entity + aspect, by source

| source | queries | Success@1 | Success@10 |
| --- | --- | --- | --- |
| GHR | 3 | 0.000 (0.000–0.000) | 0.333 (0.000–1.000) |
| GARD | 2 | 0.500 (0.000–1.000) | 1.000 (1.000–1.000) |

### har, entity + aspect, by aspect

| aspect | queries | Success@1 | Success@10 |
| --- | --- | --- | --- |
| information | 3 | 0.333 (0.000–1.000) | 0.667 (0.000–1.000) |
| symptoms | 2 | 0.000 (0.000–0.000) | 0.500 (0.000–1.000) |

### har, entity + aspect, first hits

The first hit is about the entity that was asked for 0.400 (0.000–0.800) of the queries, and has the aspect for 0.600 (0.200–1.000). It is wrong for 4:

| wrong first hit | queries | share | such as (query: first hit) |
| --- | --- | --- | --- |
| same entity, other aspect | 1 | 0.250 (0.000–0.750) | q2: GARD_1-1 |
| other entity, same aspect | 2 | 0.500 (0.000–1.000) | q3: GHR_3-1, q4: GHR_2-2 |
| no hit | 1 | 0.250 (0.000–0.750) | q5 |
| of these: related entity | 2 | 0.500 (0.000–1.000) | q3: GHR_3-1, q4: GHR_2-2 |
| of these: boilerplate | 1 | 0.250 (0.000–0.750) | q4: GHR_2-2 |

</details>
"""


def test_a_system_is_described_whole() -> None:
    found = BREAKDOWN.describe("har, entity + aspect", RUN, JUDGED)
    assert json.loads(json.dumps(found)) == DESCRIBED


def test_without_a_wrong_hit_there_are_no_kinds() -> None:
    right = {query: list(answers) for query, answers in JUDGED.items()}
    found = BREAKDOWN.describe("oracle", right, JUDGED)
    assert found["errors"] == {"queries": 0, "kinds": [], "marks": []}
    assert found["matches"] == {"entity": ALL, "aspect": ALL}


def test_a_twin_of_the_answer_is_right_although_it_is_about_another_entity() -> None:
    found = BREAKDOWN.describe("x", {"q4": ["GHR_2-2"]}, {"q4": {"GHR_3-2": 1, "GHR_2-2": 1}})
    assert (found["errors"]["queries"], found["matches"]["entity"]) == (0, NONE)


@pytest.mark.parametrize(
    ("first", "second", "related"),
    [
        ("Diarrhea", "Chronic Diarrhea in Children", True),
        ("Hereditary Neuropathy", "Other neuropathies", True),
        ("Fabry disease", "Pompe disease", False),
        ("Glaucoma type 11", "Diabetes type 11", False),
        ("Disorder of the eye", "Disorder of the ear", False),
    ],
)
def test_entities_are_related_by_words_that_tell_something(first: str, second: str, related: bool) -> None:
    topics = {"a": Topic(first, "x"), "b": Topic(second, "x")}
    breakdown = TopicBreakdown({"q": topics["a"]}, topics, {"a": "One.", "b": "Two."})
    marks = breakdown.describe("x", {"q": ["b"]}, {"q": {"a": 1}})["errors"]["marks"]
    assert [item["name"] for item in marks] == (["related entity"] if related else [])


def test_boilerplate_is_half_of_what_three_entities_repeat() -> None:
    entities = {key: topic.entity.lower() for key, topic in PASSAGES.items()}
    assert find_boilerplate(TEXTS, entities) == {"GARD_1-2", "GHR_2-2", "GHR_3-2"}
    assert find_boilerplate(TEXTS, entities | {"GARD_1-2": "spastic paraplegia type 8"}) == frozenset()
    assert find_boilerplate({"a": ""}, {"a": "gout"}) == frozenset()


def test_the_tables_of_a_breakdown_whole() -> None:
    assert "\n".join(breakdown_markdown({"breakdowns": [DESCRIBED]})) == PAGE
    assert breakdown_markdown({}) == []


def report_with(breakdowns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "suite": "medquad",
        "queries": 5,
        "sample": None,
        "rows": [{"system": "har, entity + aspect", "measures": {"Success@1": estimate(0.2, 0, 0.6)}}],
        "tests": [],
        "published": [],
        "notes": ["test split"],
        "command": "medley evaluate medquad",
        "breakdowns": breakdowns,
    }


def test_they_stand_below_the_suites_table_on_the_page_and_the_terminal() -> None:
    page = reports.markdown(report_with([DESCRIBED]))
    assert page.endswith(f"- test split\n\n{PAGE}")
    stream = io.StringIO()
    reports.show(report_with([DESCRIBED]), Console(file=stream, width=160))
    shown = stream.getvalue()
    for part in ("har, entity + aspect, by source", "It is wrong for 4:", "of these: boilerplate", "q3: GHR_3-1"):
        assert part in shown
    assert reports.markdown(report_with([])).endswith("- test split\n")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The invented passages as the files of MedQuAD."""
    articles = {
        name: {"id": name, "title": PASSAGES[f"{name}-1"].entity, "source": name.split("_")[0], "passages": []}
        for name in ("GARD_1", "GHR_2", "GHR_3")
    }
    judged = []
    for key, text in TEXTS.items():
        question = {"id": key, "question": f"SECRET {key}", "question_type": PASSAGES[key].aspect, "text": text}
        articles[key[:-2]]["passages"].append(question)
        judged.append({"passage": key, "document": key[:-2], "entity": PASSAGES[key].entity})
    queries = [
        {
            "id": name,
            "question": f"What about {topic.entity}?",
            "entity": topic.entity,
            "aspect": topic.aspect,
            "aspect_heading": topic.aspect,
            "relevant": list(JUDGED[name]),
        }
        for name, topic in QUERIES.items()
    ]
    write(tmp_path, "medquad/documents.jsonl.gz", list(articles.values()))
    write(tmp_path, "medquad/cdv_test_passages.jsonl.gz", judged)
    write(tmp_path, "medquad/cdv_test_queries.jsonl.gz", queries)
    return replace(Settings(), data=tmp_path, home=tmp_path / "home", encoder="hashing-256", reranker="none")


def test_the_suite_knows_sources_entities_and_aspects_from_its_files(settings: Settings) -> None:
    main, titled, by_slots = medquad.tasks(settings)
    assert by_slots.breakdown == BREAKDOWN
    assert (main.breakdown, titled.breakdown) == (None, None)
    assert all(task.breakdown is None for task in medquad.tasks(settings, full=True))
    assert [task.breakdown for task in medquad.tasks(settings, baseline="hashing-256")[3:]] == [None, None]


def test_a_run_breaks_down_its_last_stage(settings: Settings) -> None:
    report = run_suite("medquad", SuiteOptions(), settings)
    assert [item["system"] for item in report["breakdowns"]] == ["fused, entity + aspect"]
    (found,) = report["breakdowns"]
    assert [(item["name"], item["queries"]) for item in found["sources"]] == [("GHR", 3), ("GARD", 2)]
    row = next(row for row in report["rows"] if row["system"] == "fused, entity + aspect")
    assert 1 - found["errors"]["queries"] / 5 == pytest.approx(row["measures"]["Success@1"]["value"])
    assert "breakdowns" not in run_suite("medquad", SuiteOptions(variants=False), settings)


def test_a_system_of_a_paper_is_broken_down_beside_the_last_stage(settings: Settings) -> None:
    task = medquad.tasks(settings)[2]
    plain = dict.fromkeys((stages.BM25, stages.DENSE, stages.FUSED, stages.SIMPLE, *papers.SYSTEMS), RUN)
    found = rows.break_down(task, {**plain, "har": RUN, stages.RERANKED: RUN}, JUDGED)
    assert [item["system"] for item in found] == ["har, entity + aspect", "reranked, entity + aspect"]
    assert found[0] == DESCRIBED
    assert rows.break_down(replace(task, breakdown=None), plain, JUDGED) == []

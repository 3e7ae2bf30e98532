"""A suite's questions and judgements in the forms of OpenSearch's own tools: `_rank_eval` and Search Relevance Workbench.

Judged is by document: the ids are those of the suite's documents, which `bulk_lines` gives in the form of `_bulk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluation.task import Question, Task
from mappings.errors import InvalidInput

DEPTH = 10


def rank_eval(task: Task, index: str, fields: Sequence[str]) -> dict[str, Any]:
    """The body of `POST /INDEX/_rank_eval`: nDCG@10 of the words of each question in `fields`.

    `_rank_eval` runs no search pipeline, so it measures what an index finds without ours. Raises `InvalidInput` for a suite
    that judges passages.
    """
    requests = [
        {
            "id": item.id,
            "request": {"query": {"multi_match": {"query": item.text, "fields": list(fields)}}},
            "ratings": [
                {"_index": index, "_id": document, "rating": int(gain)}
                for document, gain in _judged(task, item).items()
            ],
        }
        for item in task.questions
    ]
    return {"requests": requests, "metric": {"dcg": {"k": DEPTH, "normalize": True}}}


def judgement_list(task: Task) -> dict[str, Any]:
    """The body of `PUT /_plugins/_search_relevance/judgments`. Raises `InvalidInput` for a suite that judges passages."""
    ratings = [
        {
            "query": item.text,
            "ratings": [{"docId": name, "rating": str(float(gain))} for name, gain in _judged(task, item).items()],
        }
        for item in task.questions
    ]
    return {"name": f"medley {task.suite}", "description": "", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}


def bulk_lines(task: Task, index: str, title: str, text: str) -> Iterator[dict[str, Any]]:
    """The suite's documents as the lines of `_bulk`, with title and labelled text in the fields of these names."""
    for item in task.corpus.documents():
        yield {"index": {"_index": index, "_id": item.id}}
        yield {title: item.title, text: item.labelled_text}


def _judged(task: Task, question: Question) -> Mapping[str, float]:
    if task.unit != "document" or task.candidates is not None:
        raise InvalidInput(
            f"{task.suite} judges passages, or candidates of its own, which an index of documents can't rank: choose another suite",
            field="suite",
        )
    return task.judgements[question.id]

"""BioASQ (tasks 1b to 10b, Krithara et al. 2023): questions of biomedical experts and what they marked in abstracts.

The copies have no abstracts: of each there is only what an expert marked, a sentence or two, sometimes a few words or
the title. 1,260 abstracts are marked for several questions. The experts' lists of documents (`documents`) are not read:
they name 6,340 more, without a snippet and so without a text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mappings.datasets.files import dataset_records

NAME: Final = "bioasq"
YEARS: Final = range(1, 11)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of an abstract, and the abstract's PMID. `section` is `title`, `abstract`, or in the first years `sections.0`."""

    document: str
    section: str
    text: str


@dataclass(frozen=True, slots=True)
class ExpertQuestion:
    """A question and the snippets that an expert judged relevant to it. `year` is its task's number, 1 to 10.

    `answer` is `yes` or `no` of a question that has such an answer, and otherwise empty.
    """

    id: str
    text: str
    year: int
    snippets: tuple[Snippet, ...]
    answer: str = ""


def read_questions(data: Path | None) -> Iterator[ExpertQuestion]:
    """The 4,433 questions of all years."""
    for record in dataset_records(data, f"{NAME}/questions", ("id", "question", "year", "snippets")):
        snippets = tuple(Snippet(item["document"], item["section"], item["text"]) for item in record["snippets"])
        yield ExpertQuestion(record["id"], record["question"], record["year"], snippets, _answer(record))


def _answer(record: Mapping[str, Any]) -> str:
    given = str(record.get("exact", "")).lower() if record.get("type") == "yesno" else ""
    return given if given in ("yes", "no") else ""


def join_snippets(questions: Iterable[ExpertQuestion]) -> dict[str, str]:
    """PMID -> what these questions' experts marked in the abstract, in order; a piece of a longer one is left out."""
    marked: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for question in questions:
        for snippet in question.snippets:
            marked[snippet.document][snippet.text.strip()] = None
    return {name: "\n\n".join(_whole(list(found))) for name, found in marked.items()}


def _whole(found: list[str]) -> Iterator[str]:
    """A blank line between them ends a sentence, whether or not it has a full stop."""
    return (text for text in found if not any(text != other and text in other for other in found))

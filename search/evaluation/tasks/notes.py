"""Clinical notes ask themselves (CAPR's self-labelling): what a note is about + a heading finds that section.

The notes are the held-out fifth of MTSamples, whole, split into sections by the product itself. The questions come
from the labelling that training uses, on notes that training never sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from encoders.labels.notes import notes as label
from encoders.labels.records import Record
from encoders.labels.split import is_test_note
from mappings import collection as kinds
from mappings.analysis.passages import passages
from mappings.documents import Document, Section
from search.evaluation.corpora import lines_of, plain
from search.evaluation.data import folder
from search.evaluation.task import Corpus, Question, Task, passage_key
from search.settings import Settings

MEASURES = ("Success@1", "RR", "Success@5", "Success@20", "nDCG@10")
LABELS = frozenset({"clinical"})


def task(settings: Settings) -> Task:
    """The suite: the held-out fifth of the notes, each asked for by its own sections."""
    records = lines_of(folder(settings, "mtsamples") / "notes.jsonl")
    chosen = [record for record in records if is_test_note(record["id"])]
    return over(chosen, chosen, "notes", settings)


def over(records: Sequence[Record], asked: Sequence[Record], name: str, settings: Settings) -> Task:
    """Questions from the notes `asked`, over the collection of `records`."""
    questions, judgements, lost = _judged(asked, settings)
    return Task(
        suite="notes",
        corpus=Corpus(name, "notes", lambda: map(document, records)),
        questions=questions,
        judgements=judgements,
        measures=MEASURES,
        unit="passage",
        notes=(
            f"{len(records):,} notes of MTSamples, questions from {len(asked):,} of them, none seen in training",
            f"{lost} labelled sections whose heading the product does not find count as missed",
        ),
    )


def document(record: Record) -> Document:
    """A note as it comes: its name as the title, its text undivided."""
    specialties = tuple(record["specialties"])
    fields = {"specialty": specialties} if specialties else {}
    return Document(record["id"], record["name"], (Section("", record["text"]),), LABELS, fields)


def _judged(
    records: Iterable[Record], settings: Settings
) -> tuple[tuple[Question, ...], dict[str, dict[str, int]], int]:
    """Questions, judgements by passage key, and how many labelled sections no passage has the heading of."""
    collection = kinds.load("notes", None, settings.collections)
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    lost = 0
    for record in records:
        found = [
            (plain(item.heading), passage_key(item.document, item.id))
            for item in passages(document(record), 1, collection)
        ]
        for pair in label([record]):
            # Questions of one wording are one question, whichever note they came from.
            question = questions.setdefault(plain(pair.query), Question(pair.id, pair.query))
            answers = [key for heading, key in found if heading == plain(pair.positive.heading)]
            lost += not answers
            judgements.setdefault(question.id, {}).update(dict.fromkeys(answers or [f"{record['id']}#lost"], 1))
    return tuple(questions.values()), judgements, lost

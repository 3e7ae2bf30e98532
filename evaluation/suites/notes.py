"""Clinical notes with self-labelled queries (as in CAPR): what a note is about and a heading find that section.

The notes are the held-out fifth of MTSamples, whole, split into sections by the product itself. The questions come
from the labelling that training uses, on notes that training never sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from encoders.labels.pairs import Text
from encoders.labels.split import is_test_note
from encoders.labels.tasks.entity_aspect import Labelling, cut_passages, draw_slots, label_passages
from encoders.labels.tasks.notes import label_notes
from evaluation.corpus.abstracts import LABELS, plain
from evaluation.published.systems import published_rows
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task, passage_key
from mappings import collection as kinds
from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.datasets.mtsamples import TranscribedNote, read_notes
from mappings.documents import Document, Passage, Section
from search.settings import Settings

CANDIDATES = 64
CANDIDATE_FIELD = "encounter"
"""Of the kind, the field that identifies a document."""

OPENING = 8
"""Words that distinguish a section's text from any other."""

TRAINED = "the shipped models were trained on the other notes; what each trained system saw is recorded in its run"

MEASURES = ("Success@1", "RR", "Success@5", "Success@20", "nDCG@10")


def task(settings: Settings) -> Task:
    """The suite: the held-out fifth of the notes, with queries from their own sections."""
    chosen = _read_held_out(settings)
    return task_over(chosen, chosen, "notes", settings)


def task_over(
    indexed: Sequence[TranscribedNote], queried: Sequence[TranscribedNote], name: str, settings: Settings
) -> Task:
    """Questions from the notes `queried`, over a collection of the notes `indexed`."""
    collection = kinds.load("notes", None, settings.collections)
    questions, judgements, lost = _judge(queried, collection)
    return Task(
        suite="notes",
        corpus=Corpus(name, "notes", lambda: (note.document(collection) for note in indexed)),
        questions=questions,
        judgements=judgements,
        measures=MEASURES,
        unit="passage",
        published=published_rows("capr", "clinical notes"),
        notes=(
            f"{len(indexed):,} notes of MTSamples, questions from {len(queried):,} of them, all left out of labelling",
            f"{lost} labelled sections that are no section of the product's own count as missed",
        ),
    )


def _judge(
    notes: Iterable[TranscribedNote], collection: Collection
) -> tuple[tuple[Question, ...], dict[str, dict[str, int]], int]:
    """Questions, judgements by passage key, and how many labelled sections are in no passage."""
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    lost = 0
    for note in notes:
        found = passages(note.document(collection), 1, collection)
        for pair in label_notes([note]):
            # Questions with the same wording are one question, whichever note they came from.
            question = questions.setdefault(plain(pair.query), Question(pair.id, pair.query))
            answers = _answers(pair.positive, found) or [f"{note.id}#lost"]
            lost += answers[0].endswith("#lost")
            judgements.setdefault(question.id, {}).update(dict.fromkeys(answers, 1))
    return tuple(questions.values()), judgements, lost


def _answers(section: Text, found: Sequence[Passage]) -> list[str]:
    """The passages under the section's heading; where the product has no such heading, those with its opening words."""
    headed = [passage for passage in found if plain(passage.heading) == plain(section.heading)]
    opening = " ".join(plain(section.text).split()[:OPENING])
    chosen = headed or [passage for passage in found if opening in plain(passage.text)]
    return [passage_key(passage.document, passage.id) for passage in chosen]


def among_random(settings: Settings) -> Task:
    """A question's sections among random ones of other notes, to 64 in all, as a search reads them.

    Each section that the product finds is a document of its own, so that a search can be held to the candidates.
    """
    main = task(settings)
    collection = kinds.load("notes", None, settings.collections)
    sections = _find_sections(_read_held_out(settings), collection)
    judged = {
        question: {key: grade for key, grade in own.items() if key in sections}
        for question, own in main.judgements.items()
    }
    kept = tuple(question for question in main.questions if judged[question.id])
    return replace(
        main,
        variant=f"{CANDIDATES} random candidates",
        corpus=Corpus("notes-sections", "notes", lambda: (_section(key, item) for key, item in sections.items())),
        questions=kept,
        judgements={question.id: judged[question.id] for question in kept},
        unit="document",
        candidates=CANDIDATES,
        candidate_field=CANDIDATE_FIELD,
        pool=tuple(sections),
        published=(),
        notes=(f"of {len(sections):,} sections, those of the question among them",),
    )


def by_slots(settings: Settings) -> Task:
    """The protocol of CAPR's notes (sections 3.1 and 4.1): passages label themselves, and rank among 64 random ones.

    An entity that a section affirms and the section's heading ask for it, without titles or headings in its text: these made
    the question. All sections with both are answers.
    """
    collection = kinds.load("notes", None, settings.collections)
    notes = _read_held_out(settings)
    sections = _find_sections(notes, collection)
    keys = {passage.id: key for key, passage in sections.items()}
    labelled = label_passages(
        cut_passages((note.document(collection) for note in notes), collection), Labelling(), Counter()
    )
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    for slots in draw_slots(list(labelled), Labelling()):
        asked = Question(f"slots:{slots.passage.text.id}", entity=slots.entity, aspect=slots.aspect)
        question = questions.setdefault(plain(asked.words), asked)
        judgements.setdefault(question.id, {}).update({keys[answer]: 1 for answer in slots.answers})
    return Task(
        suite="notes",
        corpus=Corpus("notes-passages", "notes", lambda: (_bare(key, item) for key, item in sections.items())),
        questions=tuple(questions.values()),
        judgements=judgements,
        measures=MEASURES,
        variant=f"{CANDIDATES} random candidates, entity + aspect",
        notes=(
            f"{len(sections):,} sections label themselves: without titles and headings, those of the question among 64",
        ),
        reference=True,
        leads=True,
        candidates=CANDIDATES,
        candidate_field=CANDIDATE_FIELD,
        pool=tuple(sections),
        trained=TRAINED,
        whole=_by_note(sections),
    )


def _read_held_out(settings: Settings) -> list[TranscribedNote]:
    return [note for note in read_notes(settings.data) if is_test_note(note.id)]


def _find_sections(notes: Iterable[TranscribedNote], collection: Collection) -> dict[str, Passage]:
    """The passages of the notes by their keys in judgements."""
    return {
        passage_key(passage.document, passage.id): passage
        for note in notes
        for passage in passages(note.document(collection), 1, collection)
    }


def _by_note(sections: Mapping[str, Passage]) -> list[dict[str, str]]:
    """The texts of each note's passages by their keys, in order."""
    found: dict[str, dict[str, str]] = {}
    for key, passage in sections.items():
        found.setdefault(passage.document, {})[key] = passage.text
    return list(found.values())


def _section(key: str, passage: Passage) -> Document:
    sections = (Section(passage.heading, passage.text),)
    return Document(key, passage.title, sections, LABELS, {CANDIDATE_FIELD: key})


def _bare(key: str, passage: Passage) -> Document:
    return Document(key, "", (Section("", passage.text),), LABELS, {CANDIDATE_FIELD: key})


def tasks(settings: Settings) -> list[Task]:
    """The main task, and both among random candidates."""
    main, further = task(settings), [among_random(settings), by_slots(settings)]
    said = (f"{item.variant}: {len(item.questions)} questions, {note}" for item in further for note in item.notes)
    return [replace(main, notes=(*main.notes, *said)), *further]


SUITE = Suite(
    "notes",
    "entity and heading to sections of clinical notes",
    lambda settings, options: tasks(settings),
    options=("systems",),
)

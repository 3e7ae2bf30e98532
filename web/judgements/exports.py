"""The judgements of all users as a folder that evaluation, tuning and training read; no user is named in it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.split import split_of
from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.documents import Document, Passage
from mappings.errors import NotFound
from mappings.judgements.judgement import Judgement, folded, newest
from mappings.stances import Stance
from search.bootstrap import Medley
from search.engines import codec
from search.storage import ExportedVersion
from web.judgements.use_cases import judgements_of
from workers.backup.files import folder_aside

TASK: Final = "stance-judged"
"""The task of the pairs, and so the name of their file."""


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """What was exported. `gone` documents were judged and are no longer there.

    `pairs` are those of stances; of the others, `tied` were told as often as another stance of the passage, and `changed`
    are of passages that have changed since.
    """

    judgements: int
    users: int
    queries: int
    documents: int
    graded: int
    gone: int
    pairs: int
    tied: int
    changed: int


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text with its judgements, each user's apart."""

    text: str
    by_user: Sequence[Sequence[Judgement]]

    @property
    def id(self) -> str:
        """The id of the query: the same in every export, and for every spelling."""
        return sha256(folded(self.text).encode()).hexdigest()[:16]

    @property
    def grades(self) -> dict[str, int]:
        """The grade of each document: the mean of its users, each of whom counts with the best passage; halves go up."""
        given: dict[str, list[int]] = defaultdict(list)
        for judgements in self.by_user:
            best: dict[str, int] = {}
            for one in judgements:
                if one.grade is not None:
                    best[one.document] = max(one.grade, best.get(one.document, 0))
            for document, grade in best.items():
                given[document].append(grade)
        return {name: math.floor(sum(grades) / len(grades) + 0.5) for name, grades in sorted(given.items())}

    @property
    def stances(self) -> dict[tuple[str, str], Stance | None]:
        """The stance of each (document, passage) by the majority of its users; None for a tie."""
        told: dict[tuple[str, str], Counter[Stance]] = defaultdict(Counter)
        for one in (one for judgements in self.by_user for one in judgements):
            if one.stance is not None:
                told[one.document, one.passage][one.stance] += 1
        return {place: _majority(votes) for place, votes in sorted(told.items())}


def export_judgements(medley: Medley, name: str, out: Path) -> ExportCounts:
    """Write all users' judgements of the collection `name` in the new folder `out`.

    Raises `NotFound` if there is no such collection or nothing was judged, `Conflict` if `out` exists.
    """
    collection = medley.collections.get(name)
    by_user = _by_user(medley, name)
    if not by_user:
        raise NotFound(f"nobody has judged a hit of {name!r} yet", field="collection")
    texts = _texts(by_user)
    judged = {one.document for judgements in by_user for one in judgements}
    with folder_aside(out) as folder:
        present, documents = _write_corpus(folder, medley.collections.store(name).export(), judged)
        graded = _write_judgements(folder, texts, present)
        pairs, tied, changed = _pairs(texts, present, collection)
        write_lines(folder / f"{TASK}.jsonl", pairs)
    return ExportCounts(
        judgements=sum(map(len, by_user)),
        users=len(by_user),
        queries=len(texts),
        documents=documents,
        graded=graded,
        gone=len(judged - present.keys()),
        pairs=len(pairs),
        tied=tied,
        changed=changed,
    )


def _by_user(medley: Medley, name: str) -> list[list[Judgement]]:
    kept: dict[str, list[Judgement]] = defaultdict(list)
    for item in medley.kept.export():
        if item.kind == "judgements" and item.collection == name:
            kept[item.owner] += judgements_of(item)
    return [list(newest(kept[owner]).values()) for owner in sorted(kept) if kept[owner]]


def _texts(by_user: Iterable[Iterable[Judgement]]) -> list[JudgedText]:
    """Each judged text once, whatever its capitals, in alphabetical order."""
    found: dict[str, list[list[Judgement]]] = defaultdict(list)
    for judgements in by_user:
        own: dict[str, list[Judgement]] = defaultdict(list)
        for one in judgements:
            own[folded(one.text)].append(one)
        for key, group in own.items():
            found[key].append(group)
    # Of several spellings the first in the alphabet: the order of users must not show.
    return [JudgedText(min(one.text for group in found[key] for one in group), found[key]) for key in sorted(found)]


def _write_corpus(
    folder: Path, versions: Iterable[ExportedVersion], judged: set[str]
) -> tuple[dict[str, tuple[Document, int]], int]:
    """Write every document; the judged ones by id with their versions, and how many there are in all."""
    present: dict[str, tuple[Document, int]] = {}
    count = 0
    with (folder / "corpus.jsonl").open("wb") as file:
        for item in versions:
            if item.content is None:
                continue
            document = codec.load(item.content)
            file.write(_line({"_id": document.id, "title": document.title, "text": _text_of(document)}))
            count += 1
            if document.id in judged:
                present[document.id] = (document, item.version)
    return present, count


def _write_judgements(folder: Path, texts: Sequence[JudgedText], present: Mapping[str, object]) -> int:
    """Write the queries and their grades; how many there are of documents that are `present`."""
    (folder / "queries.jsonl").write_bytes(b"".join(_line({"_id": item.id, "text": item.text}) for item in texts))
    rows = [
        f"{item.id}\t{document}\t{grade}\n"
        for item in texts
        for document, grade in item.grades.items()
        if document in present
    ]
    (folder / "qrels").mkdir()
    text = "query-id\tcorpus-id\tscore\n" + "".join(rows)
    (folder / "qrels" / "test.tsv").write_text(text, encoding="utf-8")
    return len(rows)


def _pairs(
    texts: Iterable[JudgedText], present: Mapping[str, tuple[Document, int]], collection: Collection
) -> tuple[list[Pair], int, int]:
    """(the pairs of stances, how many passages were tied, how many have changed since)."""
    found: list[Pair] = []
    tied = changed = 0
    for item in texts:
        for (document, passage), stance in item.stances.items():
            if document not in present:
                continue
            shown = next(_passage(*present[document], collection, passage), None)
            if shown is None:
                changed += 1
            elif stance is None:
                tied += 1
            else:
                found.append(_pair(item, shown, stance, collection.name))
    return found, tied, changed


def _passage(document: Document, version: int, collection: Collection, wanted: str) -> Iterator[Passage]:
    return (item for item in passages(document, version, collection) if item.id == wanted)


def _pair(item: JudgedText, passage: Passage, stance: Stance, corpus: str) -> Pair:
    return Pair(
        task=TASK,
        id=f"{TASK}:{item.id}:{passage.id}",
        group=item.text,
        split=split_of(item.text),
        corpus=corpus,
        query=item.text,
        relevant=(passage.id,),
        positive=Text(passage.id, passage.title, passage.heading, passage.text),
        stance=stance,
    )


def _majority(votes: Counter[Stance]) -> Stance | None:
    (first, most), *others = votes.most_common(2)
    return None if others and others[0][1] == most else first


def _text_of(document: Document) -> str:
    """The sections in one text, with their headings as abstracts have them."""
    return "\n".join(f"{item.heading}: {item.text}" if item.heading else item.text for item in document.sections)


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)

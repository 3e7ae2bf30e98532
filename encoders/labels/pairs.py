"""A training pair and its JSONL form, the only interface between labelling, mining and training.

One object a line::

    {"task": "scifact", "id": "scifact:0:31715818", "group": "31715818", "split": "train", "corpus": "scifact",
     "query": "…", "relevant": ["31715818"], "positive": {"id", "title", "heading", "text"}, "negatives": [{…}]}

All pairs of a `group` are in one split; `relevant` are the ids of all known answers to the query, which mining must not
return as negatives; `negatives` is empty until pairs are mined. A passage that is part of a longer document can have its
`before` and `after`: the texts of the passages around it, in the document's order. Where a data set says what the positive
says of the query, `stance` is one of `mappings.stances`, and `evidence` has the characters [start, end) of its text that
show it, in order, or null if nobody marked them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.analysis.window_text import surrounding_texts
from mappings.errors import InvalidInput, NotFound
from mappings.stances import Stance, as_stance

_SURROUNDINGS: Final = ("before", "after")


@dataclass(frozen=True, slots=True)
class Text:
    """A passage as training sees it. A recipe decides whether the model is shown title and heading, and what is around it.

    `before` and `after` are the texts of its document's other passages, in the document's order.
    """

    id: str
    title: str
    heading: str
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with one passage that answers it, and passages that do not."""

    task: str
    id: str
    group: str
    split: str
    corpus: str
    query: str
    relevant: tuple[str, ...]
    positive: Text
    negatives: tuple[Text, ...] = ()
    stance: Stance | None = None
    evidence: tuple[tuple[int, int], ...] | None = None


def parse_pair(record: Any) -> Pair:
    """A pair from its JSON object. Raises `InvalidInput` that names the field.

    Unknown fields are ignored. Where passages have a `label`, it is 1 for the positive and 0 for a negative.
    """
    if not isinstance(record, dict):
        raise InvalidInput("a training pair must be a JSON object", field="pair")
    values = {name: _filled(record, name) for name in ("task", "id", "group", "split", "corpus", "query")}
    if values["split"] not in ("train", "held-out"):
        raise InvalidInput(f"split is {values['split']!r}; it must be 'train' or 'held-out'", field="split")
    if record.get("positive") is None:
        raise InvalidInput("the query has no positive passage", field="positive")
    positive = _passage(record["positive"], "positive", 1)
    return Pair(
        **values,
        relevant=_relevant(record, positive.id),
        positive=positive,
        negatives=_negatives(record, positive.id),
        stance=None if record.get("stance") is None else as_stance(record["stance"]),
        evidence=_evidence(record, positive.text),
    )


def _evidence(record: dict[str, Any], text: str) -> tuple[tuple[int, int], ...] | None:
    """The marked ranges of the positive's text; None: nobody marked any."""
    found = record.get("evidence")
    if found is None:
        return None
    valid = isinstance(found, list) and all(
        isinstance(item, list) and len(item) == 2 and all(type(at) is int for at in item) for item in found
    )
    if not valid or any(not 0 <= start < end <= len(text) for start, end in found):
        message = f"evidence must list [start, end] of ranges in the positive's text, which has {len(text)} characters"
        raise InvalidInput(message, field="evidence")
    return tuple((start, end) for start, end in found)


def _negatives(record: dict[str, Any], positive: str) -> tuple[Text, ...]:
    """The passages that do not answer the query: an empty list before mining."""
    found = record.get("negatives")
    if not isinstance(found, list):
        raise InvalidInput("negatives must be a list of passages, empty before mining", field="negatives")
    negatives = tuple(_passage(item, "negatives", 0) for item in found)
    if any(text.id == positive for text in negatives):
        raise InvalidInput(f"the positive {positive!r} is also one of the negatives", field="negatives")
    return negatives


def _relevant(record: dict[str, Any], positive: str) -> tuple[str, ...]:
    """The ids of the known answers."""
    relevant = record.get("relevant")
    if not isinstance(relevant, list) or positive not in map(str, relevant):
        raise InvalidInput(
            f"relevant must list the ids of all known answers, including the positive's ({positive!r})",
            field="relevant",
        )
    return tuple(map(str, relevant))


def _passage(record: Any, field: str, label: int) -> Text:
    """A passage of a pair. Its text must not be empty; its label, where it has one, must agree with the field."""
    try:
        text = parse_text(record)
    except InvalidInput as error:
        at = error.field if isinstance(record, dict) else field
        raise InvalidInput(f"{field}: {error.message}", field=at) from None
    if not text.text.strip():
        raise InvalidInput(f"{field}: the text of {text.id!r} is empty", field=field)
    given = record.get("label", label)
    if isinstance(given, bool) or given != label:
        raise InvalidInput(
            f"{field}: the label of {text.id!r} is {given!r}; it must be 1 for the positive and 0 for a negative",
            field=field,
        )
    return text


def parse_text(record: Any) -> Text:
    """A passage from its JSON object. Raises `InvalidInput`."""
    if not isinstance(record, dict):
        raise InvalidInput("a passage must be an object with id, title, heading and text", field="positive")
    title, heading, text = (_text(record, name) for name in ("title", "heading", "text"))
    before, after = (_surrounding(record, name) for name in _SURROUNDINGS)
    return Text(_filled(record, "id"), title, heading, text, before, after)


def _surrounding(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """The passages on one side of a passage; none where nobody gave any."""
    found = record.get(name) or []
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        raise InvalidInput(f"{name} must list the texts of the document's other passages on that side", field=name)
    return tuple(found)


def surround(passages: Sequence[Text]) -> list[Text]:
    """The passages of one document, in its order, each with the nearest others around it (`surrounding_texts`)."""
    around = surrounding_texts([passage.text for passage in passages])
    return [
        replace(passage, before=before, after=after) for passage, (before, after) in zip(passages, around, strict=True)
    ]


def pair_files(labels: Path, tasks: Sequence[str] = ()) -> list[Path]:
    """The files `labels/pairs/<task>.jsonl` of the tasks, or of all.

    Raises `NotFound` if there are none, or none of a task, and `InvalidInput` for one without pairs.
    """
    files = sorted((labels / "pairs").glob("*.jsonl"))
    if not files:
        raise NotFound(f"{labels} has no pairs/*.jsonl; `medley label pairs {labels}` writes them", field="labels")
    if missing := set(tasks) - {file.stem for file in files}:
        raise NotFound(f"{labels} has no pairs of {', '.join(sorted(missing))}", field="task")
    chosen = [file for file in files if not tasks or file.stem in tasks]
    for file in chosen:
        if next(read_pairs(file), None) is None:
            raise InvalidInput(f"{file} has no pairs: label again, or remove it", field=file.name)
    return chosen


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a JSONL file (or .jsonl.gz), in order. Raises `InvalidInput` with file, line and field."""
    return (pair for _, pair in located_pairs(path))


def check_sides(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs. Raises `InvalidInput` at one of a group that is also on the other side of the split."""
    sides: dict[str, str] = {}
    for pair in pairs:
        if sides.setdefault(pair.group, pair.split) != pair.split:
            message = f"{pair.task}.jsonl: the group {pair.group!r} is in both splits: give all its pairs the same one"
            raise InvalidInput(message, field="group")
        yield pair


def located_pairs(path: Path) -> Iterator[tuple[str, Pair]]:
    """("scifact.jsonl, line 3", pair) for each line. Raises `InvalidInput` with file, line and field.

    An id, or a query with its positive, that occurs twice is an error, and so is a pair of another task than the one
    that the file is named after.
    """
    task = task_of(path)
    seen: dict[tuple[str, ...], int] = {}
    for number, line in _lines(path):
        place = f"{path.name}, line {number}"
        try:
            pair = parse_pair(orjson.loads(line))
            if pair.task != task:
                raise InvalidInput(
                    f"the task is {pair.task!r}, but the file is named after the task {task!r}", field="task"
                )
            for key in ((pair.id,), (pair.query, pair.positive.id)):
                if key in seen:
                    raise InvalidInput(f"the pair {pair.id!r} repeats line {seen[key]}", field="id")
                seen[key] = number
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{place}: not valid JSON ({error})", field=path.name) from None
        except InvalidInput as error:
            raise InvalidInput(f"{place}: {error.message}", field=error.field) from None
        yield place, pair


def task_of(path: Path) -> str:
    """The task of the pairs in a file: the file's name without .jsonl or .jsonl.gz."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def read_texts(path: Path) -> Iterator[Text]:
    """The passages of a corpus file, in order. Raises `InvalidInput` with file, line and field."""
    for number, line in _lines(path):
        try:
            yield parse_text(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{path.name}, line {number}: not valid JSON ({error})", field=path.name) from None
        except InvalidInput as error:
            raise InvalidInput(f"{path.name}, line {number}: {error.message}", field=error.field) from None


def write_lines(path: Path, items: Iterable[Pair | Text]) -> int:
    """Write one JSON object a line and return how many. The file is complete or absent, even if the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    count = 0
    with partial.open("wb") as file:
        for item in items:
            file.write(orjson.dumps(item, default=_as_record, option=_LINE))
            count += 1
    partial.replace(path)
    return count


_LINE: Final = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS


def _as_record(item: Pair | Text) -> dict[str, Any]:
    """As a JSON object, without surroundings where there are none: most passages have none."""
    record = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value for name, value in record.items() if value or name not in _SURROUNDINGS}


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of the lines that are not blank."""
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist; `medley label` and `medley mine` write such files", field=path.name)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())


def _filled(record: dict[str, Any], name: str) -> str:
    value = _text(record, name)
    if not value.strip():
        raise InvalidInput(f"{name} is empty", field=name)
    return value


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is missing or not a string", field=name)
    return value

"""A training pair, and its JSONL form: all that labelling, mining and training say to each other.

One object a line::

    {"task": "scifact", "id": "scifact:0:31715818", "group": "31715818", "split": "train", "corpus": "scifact",
     "query": "…", "relevant": ["31715818"], "positive": {"id", "title", "heading", "text"}, "negatives": [{…}]}

`group` is what may not stand on both sides of the split; `relevant` are all known answers of the query, which
mining must not return; `negatives` is empty until pairs are mined.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from mappings.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Text:
    """A passage as training sees it. A recipe decides whether title and heading are shown to the model."""

    id: str
    title: str
    heading: str
    text: str


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


def parse_pair(record: Any) -> Pair:
    """A pair from its JSON object. Raises `InvalidInput` that names the field."""
    if not isinstance(record, dict):
        raise InvalidInput("a training pair is a JSON object", field="pair")
    values = {name: _text(record, name) for name in ("task", "id", "group", "split", "corpus", "query")}
    if values["split"] not in ("train", "held-out"):
        raise InvalidInput(f"split is {values['split']!r}; it is 'train' or 'held-out'", field="split")
    relevant = record.get("relevant", [])
    negatives = record.get("negatives", [])
    if not isinstance(relevant, list) or not isinstance(negatives, list):
        raise InvalidInput("relevant and negatives are lists", field="negatives")
    return Pair(
        **values,
        relevant=tuple(map(str, relevant)),
        positive=parse_text(record.get("positive")),
        negatives=tuple(map(parse_text, negatives)),
    )


def parse_text(record: Any) -> Text:
    """A passage from its JSON object. Raises `InvalidInput`."""
    if not isinstance(record, dict):
        raise InvalidInput("a passage is an object with id, title, heading and text", field="positive")
    return Text(*(_text(record, name) for name in ("id", "title", "heading", "text")))


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a JSONL file (or .jsonl.gz), in order. Raises `InvalidInput` with file and line."""
    for number, line in enumerate(_lines(path), start=1):
        try:
            yield parse_pair(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{path.name}, line {number}: not JSON ({error})", field=path.name) from None
        except InvalidInput as error:
            raise InvalidInput(f"{path.name}, line {number}: {error.message}", field=error.field) from None


def read_texts(path: Path) -> Iterator[Text]:
    """The passages of a corpus file, in order. Raises `InvalidInput`."""
    for line in _lines(path):
        yield parse_text(orjson.loads(line))


def write_lines(path: Path, items: Iterable[Pair | Text]) -> int:
    """Write one JSON object a line, aside first, so that a kill leaves no half file; how many were written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".partial")
    count = 0
    with aside.open("wb") as file:
        for item in items:
            file.write(orjson.dumps(asdict(item), option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    aside.replace(path)
    return count


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file():
        raise InvalidInput(f"{path} is not there; `medley label` and `medley mine` write such files", field=path.name)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        yield from (line for line in file if line.strip())


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is missing or not a text", field=name)
    return value

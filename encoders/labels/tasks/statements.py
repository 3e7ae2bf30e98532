"""What the tasks `polarity` and `substituted` share: pairs of a condition, present or ruled out, and a sentence that states this."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import split_of
from mappings.analysis.mentions.findings import doubts, labels


def is_finding(name: str) -> bool:
    """Whether the lexicon of findings reads `name` as a finding, or as containing one."""
    return bool(labels(name) or doubts(name))


def drop_nested(names: Sequence[str]) -> tuple[str, ...]:
    """The names that contain no other: a sentence about a name with another inside would be about that one too."""
    return tuple(name for name in names if not any(other in name for other in names if other != name))


def statement_key(task: str, name: str, present: bool, number: int) -> str:
    """The id of the pair `number` for one name and polarity."""
    return f"{task}:{name}:{'yes' if present else 'no'}:{number}"


def statement_pair(
    key: str, name: str, query: str, sentence: str, relevant: Iterable[str], wrong: Iterable[str]
) -> Pair:
    """A pair from sentences: the one that answers, all that are `relevant`, and negatives, those `wrong` that are not.

    The task is what `key` begins with.
    """
    task = key.partition(":")[0]
    ids = tuple(_id(task, other) for other in relevant)
    negatives = tuple(_text(task, other) for other in dict.fromkeys(wrong) if _id(task, other) not in ids)
    return Pair(task, key, name, split_of(name), task, query, ids, _text(task, sentence), negatives)


def _id(task: str, sentence: str) -> str:
    return f"{task}:{normalise(sentence)}"


def _text(task: str, sentence: str) -> Text:
    return Text(_id(task, sentence), "", "", sentence)

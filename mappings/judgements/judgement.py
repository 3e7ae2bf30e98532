"""What a reader thinks of a hit: whether its passage answers the searched text, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mappings.documents import clean
from mappings.errors import InvalidInput
from mappings.given import GivenObject, short_text
from mappings.stances import Stance, as_stance

GRADES: Final[dict[int, str]] = {2: "yes", 1: "partly", 0: "no"}
"""Whether a passage answers, and the words of the form for it."""

MOST_TEXT_CHARACTERS: Final = 2_000
"""The longest text that is judged, which is the longest claim of a dossier: a longer one is an article, not a question."""

_MOST_JUDGEMENTS: Final = 2_000
_MOST_ID_CHARACTERS: Final = 600
_FIELDS: Final = ("text", "document", "passage", "grade", "stance", "at")


class JudgementKey(NamedTuple):
    """What identifies a judgement among a user's own: a text, regardless of capitals, and a passage of a document."""

    text: str
    document: str
    passage: str

    @classmethod
    def of(cls, text: str, document: str, passage: str) -> JudgementKey:
        """The key of a passage as an answer to a text."""
        return cls(folded(text), document, passage)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judgement of a passage, made at the moment `at` (ISO 8601, UTC). It has a grade, a stance, or both.

    Raises `InvalidInput` for one that has neither, and for a passage of another document.
    """

    text: str
    document: str
    passage: str
    grade: int | None
    stance: Stance | None
    at: str

    def __post_init__(self) -> None:
        if self.grade is None and self.stance is None:
            raise InvalidInput("say whether it answers, or what it says", field="grade")
        if not self.passage.startswith(f"{self.document}@"):
            raise InvalidInput("the passage is of another document", field="passage")

    @property
    def key(self) -> JudgementKey:
        """The text and the passage that are judged."""
        return JudgementKey.of(self.text, self.document, self.passage)

    def as_json(self) -> dict[str, Any]:
        """The judgement as a JSON object."""
        return {name: getattr(self, name) for name in _FIELDS}


def parse_judgements(content: object, where: str = "content") -> tuple[Judgement, ...]:
    """Judgements from their JSON. Raises `InvalidInput`, with the field, such as `content.judgements.0.grade`."""
    given = GivenObject.of(content, where, ("judgements",))
    found = given.items("judgements", _MOST_JUDGEMENTS, _judgement)
    if len({item.key for item in found}) < len(found):
        name = given.field("judgements")
        raise InvalidInput(f"of {name}, two are of the same text and passage", field=name)
    return found


def as_content(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """Judgements as the content of a kept item, which `parse_judgements` reads."""
    return {"judgements": [item.as_json() for item in judgements]}


def with_judgement(judgements: Sequence[Judgement], added: Judgement) -> tuple[Judgement, ...]:
    """The judgements with one added; it takes the place and the spelling of an earlier one of the same text and passage."""
    if all(item.key != added.key for item in judgements):
        return (*judgements, added)
    return tuple(replace(added, text=item.text) if item.key == added.key else item for item in judgements)


def without_judgement(judgements: Sequence[Judgement], key: JudgementKey) -> tuple[Judgement, ...]:
    """The judgements without one of them."""
    return tuple(item for item in judgements if item.key != key)


def newest(judgements: Iterable[Judgement]) -> dict[JudgementKey, Judgement]:
    """One user's judgements by text and passage; of two that a program kept for the same, the newer one."""
    return {item.key: item for item in sorted(judgements, key=lambda item: item.at)}


def check_judged_text(text: str, where: str = "text") -> str:
    """A searched text on one line. Raises `InvalidInput` for one that is empty or too long."""
    line = one_line(text)
    if not line:
        raise InvalidInput("there is no text that it could answer", field=where)
    return short_text(line, MOST_TEXT_CHARACTERS, where, "a text that is judged")


def check_grade(value: object, where: str = "grade") -> int:
    """`value` as a grade. Raises `InvalidInput`."""
    if type(value) is not int or value not in GRADES:
        known = ", ".join(f"{grade} ({words})" for grade, words in GRADES.items())
        raise InvalidInput(f"{value!r:.80} is not a grade; known are {known}", field=where)
    return value


def one_line(text: str) -> str:
    """`text` on one line, without control characters."""
    return " ".join(clean(text).split())


def folded(text: str) -> str:
    """The text on one line, with capitals folded: texts that differ only in these and in spaces are the same."""
    return one_line(text).casefold()


def _judgement(value: object, where: str) -> Judgement:
    given = GivenObject.of(value, where, _FIELDS)
    grade, stance = given.values.get("grade"), given.values.get("stance")
    text = check_judged_text(given.text("text", MOST_TEXT_CHARACTERS), given.field("text"))
    document, passage = (given.needed(name, _MOST_ID_CHARACTERS) for name in ("document", "passage"))
    try:
        return Judgement(
            text=text,
            document=document,
            passage=passage,
            grade=None if grade is None else check_grade(grade, given.field("grade")),
            stance=None if stance is None else as_stance(stance, given.field("stance")),
            at=given.moment("at"),
        )
    except InvalidInput as error:
        raise _located(error, where) from None


def _located(error: InvalidInput, where: str) -> InvalidInput:
    """The error with the place in the content, where the judgement itself, which knows none, was refused."""
    field = error.field or ""
    return InvalidInput(error.message, field=field if field.startswith(where) else f"{where}.{field}")

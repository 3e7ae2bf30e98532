"""The form below a hit that asks whether it answers, and what it sends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import g
from werkzeug.datastructures import MultiDict

from mappings.collection import Collection
from mappings.documents import clean
from mappings.errors import InvalidInput, MedleyError
from mappings.judgements.judgement import (
    GRADES,
    MOST_TEXT_CHARACTERS,
    Judgement,
    JudgementKey,
    check_grade,
    check_judged_text,
    one_line,
)
from mappings.stances import STANCES, Stance, as_stance
from search.pipeline.results import Hit
from web import context
from web.judgements.use_cases import shown_judgements
from web.pages.claims.stances import SAYS


@dataclass(frozen=True, slots=True)
class JudgingForm:
    """The form of a hit: the judged text, the caller's own judgement if there is one, and whether the stance is asked for."""

    text: str
    own: Judgement | None
    asks_stance: bool

    @property
    def words(self) -> str:
        """The own judgement in words; "" without one."""
        return in_words(self.own) if self.own else ""

    @property
    def grades(self) -> list[tuple[int, str, bool]]:
        """(grade, words, whether it is the own one) to choose from."""
        return [(grade, words, self.own is not None and self.own.grade == grade) for grade, words in GRADES.items()]

    @property
    def stances(self) -> list[tuple[Stance, bool]]:
        """(stance, whether it is the own one) to choose from."""
        return [(stance, self.own is not None and self.own.stance == stance) for stance in STANCES]


def judging_of(collection: Collection, text: str, hit: Hit) -> JudgingForm | None:
    """The form of a hit that was found for a text; None where there is nothing to judge."""
    line = one_line(text)
    if not collection.studies or not 0 < len(line) <= MOST_TEXT_CHARACTERS:
        return None
    own = _own(collection.name).get(JudgementKey.of(line, hit.document, hit.passage))
    # A stance that the reader has told stays in the form, also where time was too short to read the hit again.
    return JudgingForm(line, own, hit.stance is not None or (own is not None and own.stance is not None))


def in_words(judgement: Judgement) -> str:
    """Such as "partly, refutes"."""
    grade = GRADES[judgement.grade] if judgement.grade is not None else ""
    return ", ".join(filter(None, (grade, SAYS[judgement.stance] if judgement.stance else "")))


def sent_judgement(sent: MultiDict[str, str]) -> Judgement:
    """The judgement that a form sends, as of now. Raises `InvalidInput`."""
    key, stance = sent_key(sent), sent.get("stance", "")
    return Judgement(
        text=check_judged_text(sent.get("text", "")),
        document=key.document,
        passage=key.passage,
        grade=_grade(sent.get("grade", "")),
        stance=as_stance(stance) if stance else None,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def sent_key(sent: MultiDict[str, str]) -> JudgementKey:
    """What the judgement of a form is of."""
    return JudgementKey.of(sent.get("text", ""), *(clean(sent.get(name, "")) for name in ("document", "passage")))


def _grade(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 1:
        raise InvalidInput(f"{text!r:.80} is not a grade", field="grade")
    return check_grade(int(text))


def _own(collection: str) -> dict[JudgementKey, Judgement]:
    """The caller's judgements in the collection, read once for a page. A page of hits works without them, too."""
    kept: dict[str, dict[JudgementKey, Judgement]] = g.setdefault("own_judgements", {})
    if collection not in kept:
        kept[collection] = {}
        with suppress(MedleyError):
            store, access = context.portal().medley.kept, context.caller().access
            kept[collection] = dict(shown_judgements(store, access, collection))
    return kept[collection]

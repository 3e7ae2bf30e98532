"""What to remark beside a claim, such as that it is a question; and the claims that one sentence joins. Nothing is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mappings.claims import cues
from mappings.claims.check_worthy import MOST_CHARACTERS, is_question

_JOINTS: Final = re.compile(r",? and (?:also |even )?|; (?:and )?|,? but (?:also |it )?|, while ", re.IGNORECASE)
_MODAL: Final = (
    r"(?:(?P<modal>can|could|may|might|will|does not|do not|did not|doesn['’]t|don['’]t|didn['’]t) )?(?:also )?"
)
_VERB: Final = re.compile(rf"{_MODAL}(?P<verb>[a-z]+)\b(?! by\b)", re.IGNORECASE)
_LEAST_WORDS: Final = 3
_LEAST_PART, _SUBJECT_WORDS = 2, 5
_DEPENDENT: Final = re.compile(
    r"^(?:if|when|that|which|who|whose|where|thus|so|therefore|because|some|all)\b|[,;:—–]|\S (?:it|he|she|they|we|you)$",
    re.IGNORECASE,
)
_UNCOUNTED: Final = re.compile(
    r"(?:\b(?:age|aged|ages|over|under|type|types|phase|stage|grade|level|covid|vitamin|omega|group|top|factor|chapter|number|no|"
    r"since|until|in|by|from|year|hepatitis|category|tier|wave|part)\.?[\s-]*)$",
    re.IGNORECASE,
)
_AGE: Final = re.compile(r"\s(?:and|or) (?:over|older|above|under|younger|more|less)\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d\d$")
_NUMBER: Final = re.compile(rf"({cues.NUMBER})(?![\w%‰°.,/-]*[\w%‰°])")
_NO_UNIT: Final = frozenset(
    "in for and or to at by with after among when if the is are was were a an than but on as because while during".split()  # noqa: SIM905 (words)
)
_FOLLOWING: Final = re.compile(r"\s*[-–]?\s*([^\W\d_]+|[%‰°£$€]|\d)?")


@dataclass(frozen=True, slots=True)
class ClaimRemark:
    """A remark beside a claim; `parts` are the claims to check instead, if it has two in one."""

    text: str
    parts: tuple[str, ...] = ()


def remarks_on(claim: str) -> list[ClaimRemark]:
    """The remarks on a claim, the weightiest first."""
    found: list[ClaimRemark] = []
    if is_question(claim):
        found.append(ClaimRemark("This is a question: what is read is what abstracts say of its wording."))
    if cues.OPINION.search(claim):
        found.append(
            ClaimRemark("This says what somebody thinks or what should be done: studies report what was found.")
        )
    if cues.JOKE.search(claim):
        found.append(ClaimRemark("This may be meant as a joke."))
    if len(cues.WORD.findall(claim)) < _LEAST_WORDS and claim.isascii():
        found.append(ClaimRemark("This names something, but says nothing of it."))
    if len(claim) > MOST_CHARACTERS:
        size = f"This has more than {MOST_CHARACTERS} characters: what abstracts say of so long a text isn't read."
        return [*found, ClaimRemark(size)]
    if parts := parts_of(claim):
        found.append(
            ClaimRemark("These are two claims in one, and studies can support one and refute the other.", parts)
        )
    if number := number_without_unit(claim):
        found.append(ClaimRemark(f"“{number}” has no unit: 30 percent and 30 percentage points are different claims."))
    return found


def parts_of(claim: str) -> tuple[str, ...]:
    """The two claims that a sentence joins with "and", "but" or "while"; empty if it makes one.

    Either each half has a subject and a verb of effect of its own, or the second half begins with such a verb in the form of
    the first half's, whose subject it shares: "Coffee prevents cancer and lowers blood pressure".
    """
    for joint in _JOINTS.finditer(claim):
        left, right = claim[: joint.start()].strip(), claim[joint.end() :].strip().rstrip(".")
        verb = _first_verb(left)
        # Without an object, the verb shares that of the second half: "prevents and treats malaria".
        if verb is None or not left[verb.end() :].strip() or len(right.split()) < _LEAST_PART:
            continue
        subject = left[: verb.start()].strip()
        begun = _VERB.match(right)
        if subject and begun and _agree(verb, begun):
            return left, f"{subject} {right}"
        other = _first_verb(right)
        if subject and other and _is_subject(right[: other.start()].strip()):
            return left, right[:1].upper() + right[1:]
    return ()


def _is_subject(text: str) -> bool:
    """Whether a half can begin so: with a few words that are the subject of a clause which stands alone."""
    return 0 < len(text.split()) <= _SUBJECT_WORDS and not _DEPENDENT.search(text)


def _first_verb(text: str) -> re.Match[str] | None:
    """The first verb of effect that is finite, with its modal verb: not one after "to" or before "by"."""
    for found in _VERB.finditer(text):
        before = text[: found.start()].rstrip().lower()
        if (
            _form(found["verb"])
            and not text[: found.start()].endswith("-")
            and not before.endswith((" to", " of", " the", " a", " an", " in", " no"))
        ):
            return found
    return None


def _agree(first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether two verbs can have one subject: after "may" any two can."""
    form = _form(second["verb"])
    return bool(form) and (form == _form(first["verb"]) or bool(first["modal"] or second["modal"]))


def _form(verb: str) -> str:
    small = verb.lower()
    return "s" if small in cues.SINGULAR else "past" if small in cues.PAST else "base" if small in cues.BASE else ""


def number_without_unit(claim: str) -> str:
    """The first number that says of nothing how much it is; "" if there is none.

    Years, ages, and numbers that belong to a name (type 2, COVID-19) need no unit; a noun after the number is one.
    """
    for found in _NUMBER.finditer(claim):
        before, after = claim[: found.start()], _FOLLOWING.match(claim, found.end())
        following = (after[1] or "").lower() if after else ""
        if _YEAR.match(found[1]) or before.rstrip().endswith(("$", "£", "€")):
            continue
        if (
            cues.MONTH.search(before)
            or _AGE.match(claim, found.end())
            or before.rstrip().endswith(("older than", "younger than"))
        ):
            continue
        if _UNCOUNTED.search(before) and not re.search(r"\b(?:by|from)\W*$", before):
            continue
        if following == "" or following in _NO_UNIT:
            if following in ("to", "and", "or", "in") and re.match(
                r"\s*(?:to|and|or|in)\s+(?:every )?\d", claim[found.end() :]
            ):
                continue
            return found[1]
    return ""

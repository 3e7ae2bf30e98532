"""Templates of questions: what is left of a question without its entity, and how many questions use a known one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

ENTITY: Final = "X"
"""What stands for the entity in a template."""


class EntityQuestion(NamedTuple):
    """A question as text, and the entity that it asks about."""

    text: str
    entity: str


def template_of(question: EntityQuestion) -> str:
    """The question in lower case with `ENTITY` instead of the entity; unchanged words where it does not name the entity."""
    words, entity = (" ".join(part.lower().split()) for part in question)
    return re.sub(rf"(?<!\w){re.escape(entity)}(?!\w)", ENTITY, words) if entity else words


def share_known(questions: Iterable[EntityQuestion], known: Iterable[EntityQuestion]) -> float:
    """The fraction of `questions` whose template one of the `known` ones has, too; 0.0 without questions."""
    templates = {template_of(question) for question in known}
    found = [template_of(question) in templates for question in questions]
    return sum(found) / len(found) if found else 0.0

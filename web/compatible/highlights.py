"""Highlights: the evidence sentences of a hit, and its title, with the matches between tags."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from search.pipeline.results import Hit, Span
from web.compatible.query.texts import TEXT, TITLE
from web.compatible.shapes import (
    a_text,
    a_whole,
    an_object,
    check_keys,
    matches,
    only_entry,
    quoted,
    some_patterns,
    some_texts,
    unsupported,
)

_FIELDS: Final = (TITLE, TEXT)
_OPTIONS: Final = ("pre_tags", "post_tags", "number_of_fragments")
_NEUTRAL: Final = {"type": ("unified", "plain", "fvh"), "order": ("none", "score"), "require_field_match": (False,)}
_FRAGMENTS: Final = 5


@dataclass(frozen=True, slots=True)
class FieldHighlight:
    """How one field is highlighted: by at most `fragments` sentences; 0 means the whole field."""

    name: str
    before: str = "<em>"
    after: str = "</em>"
    fragments: int = _FRAGMENTS
    escape: Callable[[str], str] = str

    def of(self, hit: Hit) -> list[str]:
        """The highlighted fragments of a hit; none where nothing matches."""
        if self.name == TITLE:
            return [self._marked(hit.title, hit.title_marks)] if hit.title_marks else []
        if self.fragments:
            return [self._marked(item.text, item.marks) for item in hit.evidence[: self.fragments]]
        marks = sorted(
            {Span(item.start + mark.start, item.start + mark.end) for item in hit.evidence for mark in item.marks}
        )
        return [self._marked(hit.text, marks)] if hit.evidence else []

    def _marked(self, text: str, marks: Sequence[Span]) -> str:
        parts, done = [], 0
        for start, end in marks:
            if start < done:
                continue  # overlaps the mark before
            inside = f"{self.before}{self.escape(text[start:end])}{self.after}"
            parts += [self.escape(text[done:start]), inside]
            done = end
        return "".join((*parts, self.escape(text[done:])))


def read_highlights(value: Any, where: str) -> tuple[FieldHighlight, ...]:
    """The fields that a body wants highlighted. Raises `InvalidInput`."""
    options = an_object(value, where)
    check_keys(options, (*_OPTIONS, "fields", "encoder"), where, _NEUTRAL)
    encoder = options.get("encoder", "default")
    if encoder not in ("default", "html"):
        raise unsupported(f"the encoder {quoted(encoder)}", where, "supported are default, html")
    escape = html.escape if encoder == "html" else str
    given = options.get("fields", {})
    pairs = [only_entry(item, f"{where}.fields") for item in given] if isinstance(given, list) else None
    found: dict[str, FieldHighlight] = {}
    for pattern, own in pairs if pairs is not None else an_object(given, f"{where}.fields").items():
        place = f"{where}.fields.{pattern}"[:200]
        check_keys(an_object(own, place), _OPTIONS, place, _NEUTRAL)
        for name in _matching(pattern, place):
            found.setdefault(name, _one(name, {**options, **own}, place, escape))
    return tuple(found.values())


def _matching(pattern: str, where: str) -> list[str]:
    names = [name for name in _FIELDS if any(matches(name, item) for item in some_patterns(pattern, where))]
    if not names:
        raise unsupported(f"a highlight of {quoted(pattern)}", where, f"supported are {', '.join(_FIELDS)}")
    return names


def _one(name: str, options: dict[str, Any], where: str, escape: Callable[[str], str]) -> FieldHighlight:
    before, after = (
        some_texts(options.get(key, default), f"{where}.{key}")
        for key, default in (("pre_tags", "<em>"), ("post_tags", "</em>"))
    )
    if len(before) > 1 or len(after) > 1:
        raise unsupported("more than one tag", where, "all matches are marked alike")
    fragments = a_whole(options.get("number_of_fragments", _FRAGMENTS), f"{where}.number_of_fragments", 0, 100)
    return FieldHighlight(name, a_text(before[0], where), after[0], fragments, escape)

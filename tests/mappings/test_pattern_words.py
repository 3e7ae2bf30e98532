from __future__ import annotations

import random
import re
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from mappings.analysis.mentions.cues import negation_classes
from mappings.analysis.mentions.pattern_syntax import needed_words
from mappings.analysis.mentions.pattern_words import Alternatives, PatternWords
from mappings.analysis.mentions.screens import Screened
from mappings.clinical.cue_patterns import CuePatterns
from mappings.clinical.cue_rules import classes

SHIPPED = CuePatterns((negation_classes() | classes())["relative"]).expressions


def is_possible(expression: str, text: str) -> bool:
    screened = Screened.of(text)
    return bool(PatternWords([expression]).possible(screened.text, screened.said))


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        (r"\blong ago\b", [{"long", "ago"}]),
        (r"\b(?:long|ages) ago\b", [{"ago", "ages|long"}]),
        (r"\bin (?:the )?past\b", [{"past", "in"}]),
        (r"\bpasts?\b", [{"past|pasts"}]),
        (r"\bpast", [{"past*"}]),
        (r"(?<!\w)past(?!\w)", [{"past"}]),
        (r"\bcough(?=\s(?:today|now)\b)", [{"cough", "now|today"}]),
        (r"\b\w+ [a-z]{2}\d", [set()]),
        (r"\bgout(?: again)?\b", [{"gout"}]),
        (r"\b(?:no |some )*gout\b", [{"gout"}]),
        (r"\b(?:no gout|\d+ stones)\b", [{"gout|stones"}]),
        (r"\b(?:\d+|for ages|long ago)\b", [set(), {"for", "ages"}, {"long", "ago"}]),
        (r"\b(?:\d+|never)\b", [set(), {"never"}]),
        (r"\bhis_gout\b", [{"his", "gout"}]),
    ],
)
def test_the_words_that_a_pattern_needs(expression: str, needed: list[set[str]]) -> None:
    found = [
        {"|".join(sorted(need.words)) + "*" * (not need.whole) for need in needs} for needs in needed_words(expression)
    ]
    assert all(items <= given for items, given in zip(needed, found, strict=True)), found
    assert list(map(bool, needed)) == list(map(bool, found))


@pytest.mark.parametrize("text", ["long ago", "LONG AGO", "so long_ago", "\u0130 long, ago"])
def test_a_pattern_is_possible_where_its_words_are(text: str) -> None:
    assert is_possible(r"\blong ago\b", text)


@pytest.mark.parametrize("text", ["", "ago", "longago", "along ago"])
def test_a_pattern_is_not_possible_where_a_word_is_missing(text: str) -> None:
    assert not is_possible(r"\blong ago\b", text)


class Sampler:
    """Makes texts that an expression matches, more often than not: it knows nothing of what surrounds them."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def before(self) -> str:
        return self._draw.choice(["", "so ", "so. ", "so, "])

    def text(self, items: Iterable[tuple[Any, Any]]) -> str:
        return "".join(self._item(str(kind), value) for kind, value in items)

    def _item(self, kind: str, value: Any) -> str:
        draw = self._draw
        if kind == "LITERAL":
            return draw.choice([chr(value), chr(value).upper()])
        if kind == "IN":
            return self._of_set(value)
        if kind == "BRANCH":
            return self.text(draw.choice(value[1]))
        if kind == "SUBPATTERN":
            return self.text(value[3])
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, part = value
            return "".join(self.text(part) for _ in range(draw.randint(least, min(most, least + 2))))
        if kind == "ASSERT" and value[0] > 0 and draw.random() < 0.5:
            return self.text(value[1])
        return draw.choice("ab ") if kind in ("ANY", "NOT_LITERAL") else ""

    def _of_set(self, items: list[tuple[Any, Any]]) -> str:
        kind, value = self._draw.choice(items)
        if str(items[0][0]) == "NEGATE":
            return self._draw.choice("bx 7")
        if str(kind) == "LITERAL":
            return chr(value)
        if str(kind) == "RANGE":
            return chr(self._draw.randint(*value))
        return {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": self._draw.choice("0123456789")}.get(str(value), "e")


def test_whatever_matches_a_shipped_pattern_has_its_words() -> None:
    sampler, matched = Sampler(0), 0
    for expression in SHIPPED:
        items, pattern = list(_parser.parse(expression, re.IGNORECASE)), re.compile(expression, re.IGNORECASE)
        words = PatternWords([expression])
        texts = [sampler.before() + sampler.text(items) for _ in range(300)]
        matching = [Screened.of(text) for text in texts if pattern.search(text)]
        assert [item.sentence for item in matching if not words.possible(item.text, item.said)] == []
        matched += bool(matching)
    assert matched >= 0.95 * len(SHIPPED)


def test_every_shipped_pattern_needs_something() -> None:
    assert [expression for expression in SHIPPED if not all(needed_words(expression))] == []


def test_alternatives_are_told_apart() -> None:
    every = re.compile(r"\b(?=[a-z])(?:a[|(]b|c(?:d|e)|\(f|g\|)", re.IGNORECASE)
    start = r"\b(?=[a-z])"
    assert Alternatives(every).each == (
        rf"{start}(?:a[|(]b)",
        rf"{start}(?:c(?:d|e))",
        rf"{start}(?:\(f)",
        rf"{start}(?:g\|)",
    )
    assert [match[0] for match in Alternatives(every).finditer("CD a|b", [1])] == ["CD"]
    assert [match[0] for match in Alternatives(every).finditer("CD a|b", [0, 1])] == ["CD", "a|b"]
    assert list(Alternatives(every).finditer("CD a|b", [])) == []


@pytest.mark.parametrize("expression", ["a|b", "(?:a|b)c", "(a|b)", "a"])
def test_other_patterns_are_no_alternatives(expression: str) -> None:
    with pytest.raises(ValueError, match="does not end with a group"):
        Alternatives(re.compile(expression))

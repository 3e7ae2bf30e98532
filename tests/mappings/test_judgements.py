"""The content of judgements: what is accepted, what is refused with which field, and how one replaces another."""

import copy

import pytest

from mappings.errors import InvalidInput
from mappings.judgements.judgement import (
    Judgement,
    JudgementKey,
    as_content,
    check_judged_text,
    newest,
    parse_judgements,
    with_judgement,
    without_judgement,
)
from search.kept.items import KeptDraft

ONE = {
    "text": "Aspirin prevents strokes",
    "document": "pm/2",
    "passage": "pm/2@1#0",
    "grade": 2,
    "stance": "supports",
    "at": "2026-11-12T09:30:00+00:00",
}
WHOLE = {"judgements": [ONE, ONE | {"passage": "pm/2@1#1", "grade": None}, ONE | {"text": "Other", "stance": None}]}


def judged(text="Aspirin prevents strokes", grade=2, stance=None, at="2026-11-12T09:30:00+00:00"):
    return Judgement(text, "pm/2", "pm/2@1#0", grade, stance, at)


def test_judgements_are_written_as_they_were_read():
    assert as_content(parse_judgements(WHOLE)) == WHOLE
    assert parse_judgements({}) == ()


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("grade", 3, "grade"),
        ("grade", -1, "grade"),
        ("grade", True, "grade"),
        ("grade", 2.0, "grade"),
        ("grade", "2", "grade"),
        ("stance", "agrees", "stance"),
        ("stance", "", "stance"),
        ("text", "", "text"),
        ("text", " \n ", "text"),
        ("text", "t" * 2_001, "text"),
        ("text", "a\x00b", "text"),
        ("text", 7, "text"),
        ("document", "", "document"),
        ("document", "d" * 601, "document"),
        ("passage", "pm/3@1#0", "passage"),
        ("passage", "pm/22@1#0", "passage"),
        ("at", "yesterday", "at"),
        ("user", "ada", "user"),
    ],
)
def test_what_is_not_a_judgement_is_refused_with_its_field(name, value, field):
    content = copy.deepcopy(WHOLE)
    content["judgements"][1][name] = value
    with pytest.raises(InvalidInput) as refused:
        parse_judgements(content)
    assert refused.value.field == f"content.judgements.1.{field}"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ([], "content"),
        ({"judgements": {}}, "content.judgements"),
        ({"judgements": [7]}, "content.judgements.0"),
        ({"judgements": [ONE, ONE | {"text": " ASPIRIN  prevents strokes", "grade": 0}]}, "content.judgements"),
        ({"judgements": [ONE | {"grade": None, "stance": None}]}, "content.judgements.0.grade"),
        ({"judgements": [], "notes": ""}, "content.notes"),
    ],
)
def test_what_is_not_the_content_of_judgements_is_refused(content, field):
    with pytest.raises(InvalidInput) as refused:
        parse_judgements(content)
    assert refused.value.field == field


def test_a_judgement_of_the_same_text_and_passage_replaces_the_earlier_one_in_its_place():
    other = judged("Other")
    found = with_judgement((judged(), other), judged("ASPIRIN prevents  strokes", 0, "refutes"))
    assert found == (judged(grade=0, stance="refutes"), other)
    assert with_judgement((other,), judged()) == (other, judged())
    assert without_judgement(found, JudgementKey.of("aspirin PREVENTS strokes", "pm/2", "pm/2@1#0")) == (other,)
    assert without_judgement(found, JudgementKey.of("aspirin", "pm/2", "pm/2@1#0")) == found


def test_of_two_of_the_same_the_newer_one_counts():
    old, new = judged(at="2026-11-12T09:30:00+00:00"), judged(grade=0, at="2026-11-13T09:30:00+00:00")
    assert list(newest([new, old]).values()) == list(newest([old, new]).values()) == [new]


@pytest.mark.parametrize("text", ["يمنع الأسبرين السكتات الدماغية", "阿司匹林可以预防中风", "<b>x</b>", "t" * 2_000])
def test_any_script_is_judged(text):
    assert check_judged_text(f"  {text}\n") == text
    assert as_content(parse_judgements({"judgements": [ONE | {"text": text}]}))["judgements"][0]["text"] == text


def test_a_text_of_ten_thousand_characters_is_refused():
    with pytest.raises(InvalidInput, match="at most 2,000 characters, and this has 10,000"):
        check_judged_text("t" * 10_000)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"shared_with": frozenset({"desk"})}, "shared_with"),
        ({"collection": ""}, "collection"),
        ({"content": {"judgements": [ONE | {"grade": 9}]}}, "content.judgements.0.grade"),
    ],
)
def test_judgements_are_kept_in_their_collection_and_never_shared(changes, field):
    draft = {"kind": "judgements", "name": "abstracts", "content": WHOLE, "collection": "abstracts"}
    assert KeptDraft(**draft).content == WHOLE
    with pytest.raises(InvalidInput) as refused:
        KeptDraft(**draft | changes)
    assert refused.value.field == field

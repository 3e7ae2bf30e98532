"""Templates of questions, on invented ones."""

from __future__ import annotations

import pytest

from evaluation.corpus.templates import EntityQuestion, share_known, template_of


@pytest.mark.parametrize(
    ("text", "entity", "template"),
    [
        ("What is (are) Blue Fever ?", "blue fever", "what is (are) X ?"),
        ("Who is at risk for Blue  Fever? ?", "Blue Fever", "who is at risk for X? ?"),
        ("Is gout (acute) inherited ?", "gout (acute)", "is X inherited ?"),
        ("What causes it ?", "gout", "what causes it ?"),
        ("How is a goutweed rash treated ?", "gout", "how is a goutweed rash treated ?"),
        ("What is gout ?", "", "what is gout ?"),
        ("", "gout", ""),
    ],
)
def test_a_template_is_the_question_without_its_entity(text: str, entity: str, template: str) -> None:
    assert template_of(EntityQuestion(text, entity)) == template


def test_the_share_counts_questions_not_templates() -> None:
    known = [EntityQuestion("What is (are) gout ?", "gout")]
    asked = [EntityQuestion(f"What is (are) {name} ?", name) for name in ("mumps", "blue fever", "rickets")]
    assert share_known([*asked, EntityQuestion("Is mumps inherited ?", "mumps")], known) == 0.75


def test_without_questions_nothing_is_known() -> None:
    assert share_known([], [EntityQuestion("What is gout ?", "gout")]) == 0.0
    assert share_known([EntityQuestion("What is gout ?", "gout")], []) == 0.0

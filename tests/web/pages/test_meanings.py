"""Choosing a meaning replaces the abbreviation, and no other word that begins with its letters."""

import pytest

from web.pages.search_page import _reworded


@pytest.mark.parametrize(
    ("text", "short", "expected"),
    [
        ("PE PEEP", "PE", "pulmonary embolism PEEP"),
        ("MSSA and MS", "MS", "MSSA and pulmonary embolism"),
        ("(PE)", "PE", "(pulmonary embolism)"),
        ("none", "PE", "none"),
    ],
)
def test_only_the_abbreviation_is_replaced(text, short, expected):
    assert _reworded(text, short, "pulmonary embolism") == expected

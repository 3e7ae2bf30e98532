"""Badges of a publication: which notice stands beside which, and which of them warn."""

from __future__ import annotations

import pytest

from web.pages.studies import StudyBadge, study_badges, without_study

NOTICES = (
    "Erratum in: J Otter. 2020",
    "Retraction of: J Otter. 2019",
    "Retraction in: J Otter. 2021",
    "Expression of concern in: J Otter. 2018",
)


@pytest.mark.parametrize(
    ("badge", "warns", "notice"),
    [
        ("retracted", True, NOTICES[2]),
        ("retraction notice", True, NOTICES[1]),
        ("expression of concern", True, NOTICES[3]),
        ("randomised trial", False, ""),
    ],
)
def test_a_badge_has_the_notice_that_is_about_it(badge: str, warns: bool, notice: str) -> None:
    assert study_badges({"badges": (badge,), "notices": NOTICES}) == [StudyBadge(badge, warns, notice)]


def test_a_badge_without_a_notice_and_a_sample_size() -> None:
    fields = {"badges": ("retracted",), "sample_size": 1234.0, "journal": "J Otter"}
    assert study_badges(fields) == [StudyBadge("retracted", True, ""), StudyBadge("n = 1,234")]
    assert without_study(fields) == {"journal": "J Otter"}

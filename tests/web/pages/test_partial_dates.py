"""A date of publication that the source gives by month or year only is not shown with a day."""

from datetime import date

import pytest

from mappings.collection import load
from web.pages.formatting import details


@pytest.mark.parametrize(
    ("published", "shown"),
    [
        (date(2020, 5, 1), "May 2020"),
        (date(2020, 1, 1), "2020"),
        (date(2020, 5, 2), "2 May 2020"),
        (date(987, 1, 1), "987"),
    ],
)
def test_no_day_is_made_up(published, shown):
    (detail,) = details({"published": published}, load("abstracts"))
    assert detail.value == shown


def test_other_dates_keep_their_day():
    (detail,) = details({"date": date(2020, 5, 1)}, load("notes"))
    assert detail.value == "1 May 2020"

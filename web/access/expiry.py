"""When a token expires: read from a duration such as `90d` or from a date, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from typing import Final

from mappings.errors import InvalidInput

_DURATION: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def expiry_of(text: str, now: datetime | None = None) -> datetime:
    """The moment that `text` names: a duration from `now` in hours, days or weeks, or a date, whose whole day counts.

    Raises `InvalidInput` for anything else, and for a moment that has passed.
    """
    now, text = now or datetime.now(UTC), text.strip()
    if found := _DURATION.fullmatch(text):
        return (now + int(found[1]) * _UNITS[found[2]]).replace(microsecond=0)
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()
        ends = datetime.combine(day, time(), UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text[:40]!r} is not an expiry: give a duration such as 12h, 90d or 26w, or a date such as 2027-12-31",
            field="expires",
        ) from error
    if ends <= now:
        raise InvalidInput(f"{text} has passed: give a date that lies ahead", field="expires")
    return ends


def in_words(moment: datetime) -> str:
    """The moment for a message, to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

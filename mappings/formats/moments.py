"""Points in time as formats write them: dates, which can be partial, and time stamps as source versions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from mappings.errors import InvalidInput
from mappings.formats.fields import date_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TOLERANCE: Final = timedelta(days=1)
_PARTIAL: Final = re.compile(r"\d{4}(-\d{2})?")


def source_moment(text: str, name: str) -> int:
    """A time stamp as a source version: microseconds since 1970. Raises `InvalidInput` that names `name`.

    A time more than a day in the future is an error: no later copy of the record could ever replace this one.
    """
    moment = _moment(text, name)
    if moment.tzinfo is None:
        raise InvalidInput(f"{name} must include a time zone, as in 2021-02-28T10:00:00Z", field=name)
    if moment - _EPOCH > datetime.now(UTC) - _EPOCH + _TOLERANCE:
        raise InvalidInput(f"{name}: {text[:40]} is in the future; no later copy could replace this one", field=name)
    return (moment - _EPOCH) // _MICROSECOND


def shifted_moment(text: str, name: str) -> int:
    """A time stamp of a de-identified record, whose dates are shifted, often into the future; without a time zone, UTC."""
    moment = _moment(text, name)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def first_day(text: str, name: str) -> str:
    """The day of a date or time stamp, or the first day of a month or year ("2021-05"), as YYYY-MM-DD."""
    whole = f"{text}-01-01"[:10] if _PARTIAL.fullmatch(text) else text
    return date_of(name, whole).isoformat()


def _moment(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"{name} must be a time stamp such as 2021-02-28T10:00:00Z, not {text[:40]!r}", field=name
        ) from error

"""Bounds of dates as OpenSearch's clients write them, as days: documents have dates without a time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from mappings.errors import InvalidInput
from web.compatible.shapes import quoted, unsupported

FORMATS: Final = ("yyyy-MM-dd", "strict_date_optional_time", "date_optional_time", "strict_date", "epoch_millis")
"""The formats of bounds that are read; several can be joined by `||`, as in OpenSearch."""

_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})?)?")
_MILLISECONDS: Final = re.compile(r"-?[0-9]{1,15}")


def check_format(given: Any, where: str) -> None:
    """Raise `InvalidInput` for a format of bounds that is not read."""
    names = given.split("||") if isinstance(given, str) else [given]
    for name in names:
        if name not in FORMATS:
            raise unsupported(f"the date format {quoted(name)}", where, f"supported are {', '.join(FORMATS)}")


def as_milliseconds(value: Any) -> Any:
    """A number of milliseconds written so long that it is not taken for a year; anything else as it is."""
    return f"{int(value):05}" if _is_whole(value) and _MILLISECONDS.fullmatch(str(value)) else value


def first_day(value: Any, where: str, *, after: bool = False) -> date:
    """The first day from the moment `value` on, or after it. Raises `InvalidInput`."""
    moment = _moment(value, where)
    if after:
        return _shifted(moment, 1, where)
    return moment.date() if _is_midnight(moment) else _shifted(moment, 1, where)


def last_day(value: Any, where: str, *, before: bool = False) -> date:
    """The last day up to the moment `value`, or before it. Raises `InvalidInput`."""
    moment = _moment(value, where)
    return _shifted(moment, -1, where) if before and _is_midnight(moment) else moment.date()


def milliseconds(day: date) -> int:
    """A day in milliseconds since 1970, as OpenSearch answers with it."""
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_midnight(moment: datetime) -> bool:
    return moment == moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _shifted(moment: datetime, days: int, where: str) -> date:
    try:
        return moment.date() + days * _DAY
    except OverflowError:
        raise InvalidInput("this date is out of range", field=where) from None


def _moment(value: Any, where: str) -> datetime:
    text = str(value)
    try:
        if _is_whole(value) and _MILLISECONDS.fullmatch(text):
            if len(text) > 4:  # four digits are a year, which is not a day
                return _EPOCH + timedelta(milliseconds=int(text))
        elif isinstance(value, str) and _WRITTEN.fullmatch(text):
            read = datetime.fromisoformat(text)
            return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{quoted(value)} is not a date that is read here: write YYYY-MM-DD, a time such as 2020-03-01T00:00:00Z, or "
        "milliseconds since 1970; date math such as now-1y is not supported",
        field=where,
    )

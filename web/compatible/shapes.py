"""Checks the shape of what clients of OpenSearch send, and refuses by name what is not supported."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Final

from mappings.errors import InvalidInput

Neutral = Mapping[str, Sequence[Any]]
"""Option -> the values with which it changes nothing here: only with these it is accepted."""

NOTHING_NEUTRAL: Final[Neutral] = MappingProxyType({})
UNBOOSTED: Final[Neutral] = MappingProxyType({"boost": (1, 1.0)})
_SHOWN: Final = 60
_MOST_PATTERNS: Final = 100
_LONGEST_PATTERN: Final = 200


def unsupported(what: str, where: str, instead: str) -> InvalidInput:
    """The error that refuses `what` by name, and says what can be sent instead."""
    return InvalidInput(f"{what} is not supported: {instead}", field=where)


def quoted(name: object) -> str:
    """A name as errors show it."""
    return f"[{str(name)[:_SHOWN]}]"


def an_object(value: Any, where: str) -> Mapping[str, Any]:
    """`value`, if it is an object. Raises `InvalidInput`."""
    if not isinstance(value, dict):
        raise InvalidInput(f"this must be an object, not {_kind(value)}", field=where)
    return value


def only_entry(value: Any, where: str) -> tuple[str, Any]:
    """The name and the value of an object with a single entry. Raises `InvalidInput`."""
    entries = list(an_object(value, where).items())
    if len(entries) != 1:
        raise InvalidInput(f"this must have exactly one entry, not {len(entries)}", field=where)
    return entries[0]


def check_keys(given: Mapping[str, Any], known: Collection[str], where: str, neutral: Neutral = UNBOOSTED) -> None:
    """Raise `InvalidInput` for an option that is not known, unless it has a value that changes nothing."""
    for name, value in given.items():
        if name in known:
            continue
        if name not in neutral:
            raise unsupported(f"the option {quoted(name)}", where, f"supported are {', '.join(sorted(known))}")
        if not any(type(value) is type(each) and value == each for each in neutral[name]):
            allowed = " or ".join(dict.fromkeys(map(repr, neutral[name])))
            raise unsupported(f"{quoted(name)} with the value {quoted(value)}", where, f"only {allowed} is")


def a_list(value: Any, where: str) -> list[Any]:
    """A list, also of a value that stands alone, as OpenSearch reads one. Raises `InvalidInput` for an empty one."""
    items = value if isinstance(value, list) else [value]
    if not items:
        raise InvalidInput("this list must not be empty", field=where)
    return items


def a_text(value: Any, where: str) -> str:
    """`value`, if it is a text with something in it. Raises `InvalidInput`."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"this must be a text that is not empty, not {_kind(value)}", field=where)
    return value


def some_texts(value: Any, where: str) -> list[str]:
    """A text, or a list of texts, as a list. Raises `InvalidInput`."""
    return [a_text(item, where) for item in a_list(value, where)]


def some_patterns(value: Any, where: str) -> list[str]:
    """A pattern of names, or a list of them, for `matches`. Raises `InvalidInput`."""
    patterns = some_texts(value, where)
    if len(patterns) > _MOST_PATTERNS or any(len(item) > _LONGEST_PATTERN for item in patterns):
        message = f"give at most {_MOST_PATTERNS} patterns of at most {_LONGEST_PATTERN} characters"
        raise InvalidInput(message, field=where)
    return patterns


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern, in which an asterisk stands for anything."""
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


def a_flag(value: Any, where: str) -> bool:
    """`value`, if it is true or false. Raises `InvalidInput`."""
    if not isinstance(value, bool):
        raise InvalidInput(f"this must be true or false, not {_kind(value)}", field=where)
    return value


def a_whole(value: Any, where: str, least: int = 0, most: int = 1 << 31) -> int:
    """`value`, if it is a whole number from `least` to `most`. Raises `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            f"this must be a whole number from {least:,} to {most:,}, not {quoted(value)}",
            field=where,
        )
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: f"the text {value!r:.40}", type(None): "null"}
    return kinds.get(type(value), f"{value!r:.40}")

"""The parameters of addresses: those that say what a body could say, and those that change no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from mappings.errors import InvalidInput
from web.compatible.shapes import quoted, unsupported

EXECUTION: Final = frozenset(
    {
        "allow_no_indices",
        "allow_partial_search_results",
        "batched_reduce_size",
        "ccs_minimize_roundtrips",
        "expand_wildcards",
        "human",
        "ignore_throttled",
        "ignore_unavailable",
        "max_concurrent_searches",
        "max_concurrent_shard_requests",
        "pre_filter_shard_size",
        "preference",
        "realtime",
        "request_cache",
    }
)
"""How a cluster goes about a search of several indexes and shards. Here is one index, and one that is unknown is an error."""

OF_BODY: Final = (
    "_source",
    "explain",
    "from",
    "size",
    "sort",
    "timeout",
    "track_scores",
    "track_total_hits",
    "version",
)
"""Parameters that replace what the body says, as in OpenSearch."""

SHAPE: Final = ("pretty", "rest_total_hits_as_int", "typed_keys")
_SOURCES: Final = {"_source_includes": "includes", "_source_excludes": "excludes"}
_NEUTRAL: Final[Mapping[str, tuple[str, ...]]] = {
    "error_trace": ("false",),
    "search_type": ("query_then_fetch",),
}
_INSTEAD: Final[Mapping[str, str]] = {
    "q": "send the words by [match]",
    "scroll": "pages go to the window of results; `/v1/search` has a cursor that goes further",
    "search_pipeline": "every search takes the pipeline of its collection",
    "source": "send the body as the body, also of a GET, or by POST",
}
_WHOLE: Final = re.compile(r"[0-9]{1,9}")


def read_parameters(given: MultiDict[str, str], known: tuple[str, ...]) -> dict[str, Any]:
    """What the parameters of an address say, in the form of a body. Raises `InvalidInput` for one that is not `known`."""
    read: dict[str, Any] = {}
    for name, values in given.lists():
        if len(values) != 1:
            raise InvalidInput(f"this parameter is given {len(values)} times; give it once", field=name)
        if name in EXECUTION or values[0] in _NEUTRAL.get(name, ()):
            continue
        if name in _SOURCES and "_source" in known:
            if "_source" in given:
                raise InvalidInput("give [_source], or [_source_includes] and [_source_excludes]", field=name)
            read.setdefault("_source", {})[_SOURCES[name]] = values[0].split(",")
        elif name in known:
            read[name] = _sort(values[0]) if name == "sort" else _value(values[0], name == "_source")
        else:
            instead = _INSTEAD.get(name, f"supported are {', '.join(sorted(known)) or 'none'}")
            raise unsupported(f"the parameter {quoted(name)}", name, instead)
    return read


def _value(text: str, is_list: bool) -> Any:
    if text in ("", "true", "false"):
        return text != "false"
    if _WHOLE.fullmatch(text):
        return int(text)
    return text.split(",") if is_list else text


def _sort(text: str) -> list[Any]:
    pairs = (item.partition(":") for item in text.split(","))
    return [{name: order} if order else name for name, _, order in pairs]

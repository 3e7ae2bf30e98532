"""Which tokens of a text a window takes, and how much around it fits into a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def span_tokens(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The tokens `first:last` that end within the characters `start:end`, given each token's characters; (0, 0) for none.

    Some tokenizers count the space before a word as part of it, so where a token begins does not matter.
    """
    inside = [at for at, (begins, ends) in enumerate(offsets) if begins < ends and start < ends <= end]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def cut_around(length: int, first: int, last: int, room: int) -> slice:
    """Which of `length` tokens to keep in `room`: the tokens `first:last`, and as many before as after, where there are.

    Of more than `room` the first ones are kept.
    """
    spare = max(0, room - (last - first))
    before = min(first, max(spare // 2, spare - (length - last)))
    return slice(first - before, min(length, first - before + room))


def context_to_keep(context: int, room: int) -> int:
    """How many of a passage's first `context` tokens stay where it is too long for `room`: at most a quarter of it."""
    return min(context, room // 4)


def cut_to_room(length: int, context: int, first: int, last: int, room: int) -> tuple[int, list[int]]:
    """Which of `length` tokens to keep in `room`: those around the tokens `first:last`, after the context before them.

    Returns (how many tokens of the context are kept, the places of all that are kept, in order).
    """
    if length <= room:
        return context, list(range(length))
    shown = context_to_keep(context, room)
    part = cut_around(length - shown, max(0, first - shown), max(0, last - shown), room - shown)
    return shown, [*range(shown), *range(shown + part.start, shown + part.stop)]


class TokenSpan(NamedTuple):
    """The tokens `first:last` of an input, which count for text number `row`."""

    row: int
    first: int
    last: int


class Run(NamedTuple):
    """One input: the first `context` tokens of a passage, then `start:stop` of it; `spans` are of that input."""

    context: int
    start: int
    stop: int
    spans: tuple[TokenSpan, ...]


def add_context(run: Run, context: int) -> Run:
    """The run with the tokens of its passage's context, of `context` tokens, counting for each window that lacks them."""
    shown = run.context or context
    return run._replace(
        spans=(*run.spans, *(TokenSpan(row, 0, shown) for row, first, _ in run.spans if first >= shown))
    )


def plan_runs(length: int, context: int, spans: Sequence[TokenSpan], room: int) -> list[Run]:
    """The inputs of at most `room` tokens that hold every span of a passage of `length` tokens.

    A passage that is too long is read in several, each with its context of `context` tokens before it (at most a quarter of
    the room), and with a fifth of the rest before its first span. A span that does not fit goes on in the next input.
    """
    if length <= room:
        return [Run(0, 0, length, tuple(spans))]
    shown = context_to_keep(context, room)
    space = room - shown
    runs, left = [], sorted(spans, key=lambda span: span.first)
    while left:
        start = max(shown, left[0].first - space // 5)
        if left[0].last - start > space:
            start = max(shown, left[0].first)
        start = max(shown, min(start, length - space))
        stop = start + space
        inside = [span for span in left if span.last <= stop] or [left[0]._replace(last=stop)]
        cut = [span._replace(first=stop) for span in left[:1] if span.last > stop]
        left = cut + [span for span in left[len(cut) :] if span.last > stop]
        # Tokens of the context are where they were; those of the body follow it.
        moved = (TokenSpan(span.row, *(at if at < shown else shown + at - start for at in span[1:])) for span in inside)
        runs.append(Run(shown, start, stop, tuple(moved)))
    return runs

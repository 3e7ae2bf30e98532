"""Searches for claims: one with its stances, or several in the time that a page may take."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from werkzeug.datastructures import MultiDict

from mappings.claims.pasted import MOST_HEADLINES
from mappings.collection import Collection
from mappings.errors import InvalidInput, MedleyError, Unauthorized
from search.pipeline.results import Results
from search.query import Query
from web import context, forms
from web.serving import search_limits

CLAIM_SIZE: Final = 20
CLAIM_DEADLINE_MS: Final = 2_000
"""Who asks for one claim waits for all of its studies to be read."""
ROW_SIZE: Final = 10
PAGE_SECONDS: Final = 18.0
"""No search of a table begins later: with the last one, the page takes less than the 20 seconds that people and proxies wait."""

_QUOTES: Final = re.compile('["“”„‟«»]')
_OPERATORS: Final = re.compile(r"(?<!\S)-(?=\w)|(?<=\w):(?=\S)")


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """A claim with its results, or why it has none: its search failed, or no time was left for it."""

    claim: str
    results: Results | None = None
    error: str = ""
    left_out: bool = False


def searched_text(claim: str) -> str:
    """The claim without what a short query would take for operators: a headline's quotes are those of prose."""
    return " ".join(_OPERATORS.sub(" ", _QUOTES.sub(" ", claim)).split())


def claim_query(collection: Collection, claim: str, size: int, deadline_ms: int | None = None) -> Query:
    """The search for a claim. Raises `InvalidInput` for one that is empty or too long."""
    parameters = MultiDict([("collection", collection.name), ("text", searched_text(claim)), ("size", str(size))])
    if deadline_ms is not None:
        parameters.add("deadline_ms", str(deadline_ms))
    query = forms.to_query(forms.search_form_of(parameters), collection, context.caller().access)
    return search_limits.limited(query, collection, context.portal().medley.settings)


def search_claim(collection: Collection, claim: str, unhurried: bool = False) -> Results:
    """The hits of one claim; `unhurried`: with as much time as the server allows. Raises `MedleyError`."""
    query = claim_query(collection, claim, CLAIM_SIZE, 0 if unhurried else CLAIM_DEADLINE_MS)
    with context.search_turn():
        return context.use_cases().search(query)


def checked_claims(claims: Sequence[str]) -> list[str]:
    """The claims of a table, each once. Raises `InvalidInput` if there is none, or if there are too many."""
    found = list(dict.fromkeys(line for claim in claims if (line := " ".join(claim.split()))))
    if not found:
        raise InvalidInput("no claim was chosen: choose at least one", field="claim")
    if len(found) > MOST_HEADLINES:
        raise InvalidInput(
            f"{len(found)} claims were chosen, and one table has at most {MOST_HEADLINES}: leave out "
            f"{len(found) - MOST_HEADLINES}, beginning with “{found[MOST_HEADLINES][:80]}”",
            field="claim",
        )
    return found


def search_claims(
    collection: Collection, claims: Sequence[str], clock: Callable[[], float] = time.monotonic
) -> list[ClaimAnswer]:
    """The answers in the order of the claims. Between two searches another caller can go first."""
    batch = search_limits.BatchTime(context.portal().medley.settings)
    until = clock() + PAGE_SECONDS
    answers: list[ClaimAnswer] = []
    with context.search_turn() as turn:
        for claim in claims:
            if (left := until - clock()) <= 0:
                answers.append(ClaimAnswer(claim, left_out=True))
                continue
            try:
                if answers:
                    turn.pass_on(min(left, batch.left()))
                query, _ = batch.allot(claim_query(collection, claim, ROW_SIZE), collection)
                answers.append(ClaimAnswer(claim, context.use_cases().search(query)))
            except Unauthorized:
                raise
            except MedleyError as error:
                answers.append(ClaimAnswer(claim, error=error.message))
    return answers

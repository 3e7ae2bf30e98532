"""The answers about whole cohorts, the same for programs and for pages: a file, and a comparison."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from flask import request
from flask.wrappers import Response

from search.cohorts.comparison import CohortComparison
from web import context
from web.cohorts.forms import CohortComparisonForm, CohortExportForm
from web.cohorts.paging import Pause
from web.cohorts.use_cases import CohortUseCases
from web.delivery.delivery_limits import RequestWatch
from web.delivery.spooled import spool, streamed
from web.exports.formats import EXPORTS
from web.serving.fair_shares import Turn

DEGRADED: Final = "X-Medley-Degraded"
"""The header of an export that says what failed or is missing: its formats have no place for it."""

PASS_ON_SECONDS: Final = 60.0
"""How long a request waits between two pages while others go first."""


def compared_in_turns(form: CohortComparisonForm) -> CohortComparison:
    """A comparison that lets other callers go first between its pages. Raises the errors of `CohortUseCases.comparison`."""
    with context.search_turn() as turn:
        return _use_cases().comparison(form, _pause(turn))


def as_file(form: CohortExportForm) -> Response:
    """A cohort as a file to download, for programs and pages. Raises the errors of `CohortUseCases.export`."""
    chosen = EXPORTS[form.format]
    with ExitStack() as aside:
        file = spool(aside)
        with context.search_turn() as turn:
            exported = _use_cases().export(form, file, _pause(turn))
        answer = streamed(file, aside.pop_all(), chosen.media_type)
    answer.headers["Content-Disposition"] = f'attachment; filename="{form.collection}-{chosen.ending}"'
    if exported.degraded:
        answer.headers[DEGRADED] = "; ".join(exported.degraded).encode("ascii", "replace").decode()
    return answer


def _use_cases() -> CohortUseCases:
    return CohortUseCases(context.use_cases())


def _pause(turn: Turn) -> Pause:
    """Between two pages: end if the client has gone, and let another caller go first."""
    watch = RequestWatch(request.environ.get("gunicorn.socket"))

    def pause() -> None:
        watch.check()
        turn.pass_on(PASS_ON_SECONDS)

    return pause

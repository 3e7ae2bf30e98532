"""Every error that Medley can raise has an HTTP status, given in one place."""

import pytest

from encoders.batching import Overloaded
from mappings.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    MedleyError,
    ModelError,
    NotFound,
    Unauthorized,
    Unavailable,
)
from web.access.auth import RejectedCredentials
from web.access.sessions import ExpiredForm
from web.access.throttle import TooManyFailures
from web.backlog import BacklogFull
from web.errors import MediaTypeError
from web.serving.fair_shares import CallerBusy
from web.serving.request_watch import BrokenOff
from web.statuses import CODES, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput, 400),
        (BrokenOff, 400),
        (Unauthorized, 401),
        (RejectedCredentials, 401),
        (Forbidden, 403),
        (ExpiredForm, 403),
        (NotFound, 404),
        (Conflict, 409),
        (MediaTypeError, 415),
        (BacklogFull, 429),
        (CallerBusy, 429),
        (Overloaded, 429),
        (TooManyFailures, 429),
        (ModelError, 500),
        (MedleyError, 500),
        (Unavailable, 503),
    ],
)
def test_an_error_has_the_status_of_its_code(error, status):
    assert status_of(error("wrong")) == status
    assert status in CODES


def test_errors_know_no_http():
    assert not hasattr(MedleyError, "status")

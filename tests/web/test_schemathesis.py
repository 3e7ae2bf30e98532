"""The API against its own description: requests that schemathesis makes up, right ones and wrong ones."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from portal_home import fill, settings_of
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from web import create_app
from web.api import openapi

pytestmark = pytest.mark.slow

schemathesis.serializer.alias(["application/x-ndjson", "application/jsonl"], "text/plain")

PATHS = openapi.description()["paths"]
RIGHT = [(path, method, GenerationMode.POSITIVE) for path, methods in PATHS.items() for method in methods]
# What takes nothing can't be asked wrongly.
WRONG = [
    (path, method, GenerationMode.NEGATIVE)
    for path, method, _ in RIGHT
    if {"parameters", "requestBody"} & set(PATHS[path][method])
]

# A search that has the right form may still name a collection or a field that isn't here: that is a 400.
LEFT_OUT = [check for check in CHECKS.get_all() if check.__name__ == "positive_data_acceptance"]


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    return schemathesis.openapi.from_wsgi(
        "/openapi.json", create_app(settings_of(fill(tmp_path_factory.mktemp("described"))))
    )


@pytest.mark.parametrize(("path", "method", "mode"), RIGHT + WRONG)
def test_the_api_keeps_to_its_description(described, path, method, mode):
    @given(described[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=20, suppress_health_check=list(HealthCheck), database=None)
    def kept(case):
        case.call_and_validate(excluded_checks=LEFT_OUT)

    kept()

"""Reading a whole cohort: page by page, of one index, up to a limit."""

from dataclasses import replace

import pytest
from portal_home import settings_of

from mappings.errors import InvalidInput, Unavailable
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.results import CohortIds
from web.cohorts.paging import all_pages, no_pause
from web.serving.cohort_limits import MAX_STANDINGS, check_page, page_size

PAGES = {
    "": CohortIds(("a", "b"), 5, "notes-1", "b"),
    "b": CohortIds(("c", "d"), 5, "notes-1", "d"),
    "d": CohortIds(("e",), 5, "notes-1"),
}


def test_all_pages_are_read_with_a_pause_between_two(tmp_path):
    pauses = []
    pages = all_pages(PAGES.__getitem__, settings_of(tmp_path), lambda: pauses.append(1))
    assert [name for page in pages for name in page.patients] == ["a", "b", "c", "d", "e"]
    assert len(pauses) == 2


def test_a_pause_can_end_the_reading(tmp_path):
    def stop():
        raise Unavailable("stopping")

    pages = all_pages(PAGES.__getitem__, settings_of(tmp_path), stop)
    assert next(pages).patients == ("a", "b")
    with pytest.raises(Unavailable, match="stopping"):
        next(pages)


def test_pages_of_two_indexes_are_never_put_together(tmp_path):
    changed = PAGES | {"b": replace(PAGES["b"], index="notes-2")}
    with pytest.raises(Unavailable, match="replaced"):
        list(all_pages(changed.__getitem__, settings_of(tmp_path), no_pause))


@pytest.mark.parametrize(("limit", "allowed"), [(4, False), (5, True), (0, True)])
def test_the_limit_of_patients_is_that_of_the_settings(tmp_path, limit, allowed):
    settings = replace(settings_of(tmp_path), cohort_patients=limit)
    if allowed:
        assert len(list(all_pages(PAGES.__getitem__, settings, no_pause))) == 3
        return
    with pytest.raises(InvalidInput, match="5 patients, and one request compares or exports 4") as error:
        next(all_pages(PAGES.__getitem__, settings, no_pause))
    assert error.value.field == "all"


def definition(criteria):
    return CohortDefinition("notes", any=(CohortCriterion(words="x"),) * criteria)


def test_a_page_shrinks_with_its_criteria_but_never_to_nothing():
    assert page_size(definition(0), 100) == page_size(definition(1), 100) == 100
    assert page_size(definition(200), 100) == 50
    assert page_size(definition(2 * MAX_STANDINGS), 100) == 1
    check_page(definition(200), 50)
    with pytest.raises(InvalidInput, match="200 criteria can have 50 patients"):
        check_page(definition(200), 51)

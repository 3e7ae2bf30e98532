"""Comparing two cohorts: each patient is in one list, and pages leave nobody out."""

from hypothesis import given
from hypothesis import strategies as st

from search.cohorts.comparison import CohortComparison, PatientList, compare

NAMES = st.frozensets(st.text("abcé0", min_size=1, max_size=3))


def test_a_comparison_whole():
    assert compare({"a", "b", "c"}, {"b", "d"}, size=1, degraded=["x", "x", "y"]) == CohortComparison(
        PatientList(1, ("b",)), PatientList(2, ("a",), "a"), PatientList(1, ("d",)), ("x", "y")
    )
    assert compare(set(), set()) == CohortComparison(PatientList(0, ()), PatientList(0, ()), PatientList(0, ()))


@given(NAMES, NAMES, st.integers(1, 4))
def test_pages_have_every_patient_once(a, b, size):
    for name, expected in (("both", a & b), ("only_a", a - b), ("only_b", b - a)):
        found, after = [], ""
        while True:
            page = getattr(compare(a, b, after, size), name)
            assert page.total == len(expected)
            assert len(page.patients) <= size
            found += page.patients
            if not page.next:
                break
            after = page.next
        assert found == sorted(expected)

"""The comparison of two saved cohorts: who is in both, and who in one only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from flask import Blueprint, make_response, redirect, render_template, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.errors import InvalidInput, NotFound
from search.cohorts.comparison import CohortComparison, PatientList
from search.kept.items import KeptItem
from web import context
from web.access import sessions
from web.cohorts.forms import CohortComparisonForm
from web.cohorts.long_requests import compared_in_turns
from web.kept.use_cases import KeptUseCases
from web.pages.cohorts.builder_page import in_words
from web.pages.cohorts.bundle_rows import listed_bundles
from web.pages.cohorts.criteria_form import rows_of
from web.validation import validated

ON_A_PAGE: Final = 100
Part = Literal["only_a", "both", "only_b"]

blueprint = Blueprint("comparison_page", __name__)
blueprint.before_request(context.require_caller)


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One list of a comparison; `start` and `width` are its place in a bar of 100."""

    name: Part
    title: str
    patients: PatientList
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """Two saved cohorts, and the lists of their patients."""

    collection: Collection
    cohorts: tuple[KeptItem, KeptItem]
    sentences: tuple[str, str]
    compared: CohortComparison

    @property
    def word(self) -> str:
        """What documents belong to, such as `patient`."""
        return self.collection.fields[self.collection.group_by].title.lower()

    @property
    def parts(self) -> Sequence[ComparedPart]:
        """The three lists, in the order of the bar."""
        a, b = (item.name for item in self.cohorts)
        named: list[tuple[Part, str]] = [
            ("only_a", f"Only in “{a}”"),
            ("both", "In both"),
            ("only_b", f"Only in “{b}”"),
        ]
        lists: list[PatientList] = [getattr(self.compared, name) for name, _ in named]
        whole = sum(item.total for item in lists) or 1
        found, at = [], 0.0
        for (name, title), item in zip(named, lists, strict=True):
            width = round(100 * item.total / whole, 2)
            found.append(ComparedPart(name, title, item, at, width))
            at = round(at + width, 2)
        return found


@blueprint.get("/compare")
def compare() -> Response:
    """Two saved cohorts side by side, as of now; an address that names none leads to where they are chosen."""
    a, b = request.args.get("a", ""), request.args.get("b", "")
    if not (a and b):
        return make_response(redirect("/saved?kind=cohort", HTTPStatus.SEE_OTHER))
    return _shown(a, b, "")


@blueprint.post("/compare")
def compare_further() -> Response:
    """Further patients: the place in the lists is the id of a patient, which no address may have."""
    sessions.check_form_token()
    return _shown(request.form.get("a", ""), request.form.get("b", ""), request.form.get("after", ""))


def _shown(a: str, b: str, after: str) -> Response:
    store, collections = KeptUseCases(context.use_cases()), context.portal().medley.collections
    first, second = (store.get(identifier) for identifier in (a, b))
    for item in (first, second):
        if item.kind != "cohort":
            raise NotFound("there is no such cohort, or none that you may see", field="id")
    if first.collection != second.collection:
        raise InvalidInput("cohorts of two collections have different patients: choose two of one", field="b")
    given = {"a": {"kept": a}, "b": {"kept": b}, "after": after, "size": ON_A_PAGE}
    compared = compared_in_turns(validated(CohortComparisonForm, given))
    reader = collections.reader(first.collection)
    lexicon = reader.lexicon if reader else None
    bundles = {item.id: f"bundle {item.name}" for item in listed_bundles().values()}
    sentences = (
        in_words(rows_of(first.content, lexicon, bundles)),
        in_words(rows_of(second.content, lexicon, bundles)),
    )
    page = ComparisonPage(context.use_cases().collections.get(first.collection), (first, second), sentences, compared)
    return make_response(render_template("cohorts/comparison.html", page=page, after=after))

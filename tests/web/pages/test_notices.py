"""What the page says about an answer that time cut short, and about one where something failed: quietly, and apart."""

import dataclasses
import re

import pytest
from browsing import Page, get, send
from portal_home import settings_of

from mappings.documents import Access
from search.pipeline.explanation import explain
from search.ranking.candidates import Candidate, LegContributions, Level, RerankScore
from search.settings import Settings
from web import create_app
from web.pages.explanations import explanation_table

EVERYBODY = Access("root", frozenset({"*"}))
SEARCH = "/search?collection=abstracts&text=aspirin+stroke"
QUICK = f"{SEARCH}&deadline_ms=1"
FULL = f"{SEARCH}&deadline_ms=0"
LINE = "Ranked by a quick look: none of 5 passages was read closely."
NEGATIVE = re.compile(r"(?<![\w\u2013-])[-\N{MINUS SIGN}]\.?\d")


@pytest.fixture
def reranked(home):
    """A portal with the cross-encoder whatever a kind asks for."""
    return create_app(dataclasses.replace(settings_of(home), reranker="medley-crossencoder")).test_client()


def test_an_answer_that_time_cut_short_says_so_in_one_quiet_line(reranked):
    page = get(reranked, QUICK)
    assert LINE in page.text
    assert "Incomplete" not in page.text
    assert not page.all("div", **{"class": "notice"})
    assert not [attrs for _, attrs in page.elements if attrs.get("role") in ("status", "alert")]
    assert page.links(FULL) == [FULL]


def test_the_full_ranking_is_a_link_away(reranked):
    page = get(reranked, get(reranked, QUICK).links(FULL)[0])
    assert "quick look" not in page.text
    assert "Show the full ranking" not in page.text
    assert "5 of 5 reranked" in page.text


def test_the_next_question_is_asked_with_the_usual_time(reranked):
    assert not get(reranked, FULL).all("input", name="deadline_ms")
    assert get(reranked, f"{SEARCH}&deadline_ms=9000").value("deadline_ms") == "9000"


def test_a_full_ranking_that_time_cut_short_offers_no_other(home):
    settings = dataclasses.replace(settings_of(home), reranker="medley-crossencoder", max_deadline_ms=1)
    page = get(create_app(settings).test_client(), FULL)
    assert LINE in page.text
    assert "Show the full ranking" not in page.text


def test_the_full_ranking_of_a_private_search_is_asked_for_by_post(reranked):
    answer = send(reranked, "/search", {"collection": "notes", "text": "pneumonia", "deadline_ms": "1"})
    page = Page(answer.text)
    assert "passages was read closely. Show the full ranking" in page.text
    (state,) = [item["value"] for item in page.all("button", name="state") if "deadline_ms=0" in item["value"]]
    assert "pneumonia" not in state
    full = Page(send(reranked, "/search", {"text": "pneumonia", "state": state}).text)
    assert "quick look" not in full.text
    assert "of 3 reranked" in full.text


def test_the_api_tells_time_and_failure_apart(reranked):
    answer = reranked.get(f"/v1{QUICK}").json
    assert (answer["degraded"], answer["partial"]) == ([], [LINE[0].lower() + LINE[1:-1]])
    assert answer["reranked"] == {"scored": 0, "candidates": 5, "closely": 0, "wanted": 5}
    answer = reranked.get(f"/v1{FULL}").json
    assert (answer["degraded"], answer["partial"]) == ([], [])
    assert answer["reranked"] == {"scored": 5, "candidates": 5, "closely": 5, "wanted": 5}


def test_a_failure_is_a_notice_for_readers_with_the_cause_below(home):
    client = create_app(Settings(home=home, encoder="hashing-256", reranker="nothing-here")).test_client()
    answer = client.get(f"/v1{SEARCH}").json
    assert (len(answer["degraded"]), answer["partial"]) == (1, [])
    page = get(client, SEARCH)
    assert len(page.all("div", **{"class": "notice"})) == 1
    assert "Something did not work in this search" in page.text
    assert "nothing-here" in page.text
    assert "Incomplete" not in page.text


@pytest.mark.parametrize("address", [SEARCH, QUICK, FULL, f"{FULL}&size=1", "/search?collection=notes&text=pneumonia"])
def test_no_number_on_the_page_is_negative(reranked, address):
    text = get(reranked, address).text
    assert "Score" in text
    assert NEGATIVE.findall(text) == []


def test_raw_scores_below_0_are_shown_as_people_read_them():
    legs = LegContributions({"dense": (("d@1#0",), (-0.04,), (0.0,), 1.0)})
    reranking = RerankScore(0.0, logit=-3.2, normalised=0.5, weight=0.4)
    level = Level(0, 2)
    candidate = Candidate("d@1#0", "d", level.place(0.2), legs, reranking, level=level)
    rows = explanation_table(explain(candidate, [], EVERYBODY)).rows
    assert [(row.name, row.score, row.share) for row in rows] == [
        ("Meaning (dense)", "below 0", "0.000"),
        ("Fused", "", "0.000"),
        ("Fused", "", "0.000"),
        ("Cross-encoder", "0.039", "0.099"),
        ("Level", "", "0.505"),
        ("Score", "", "0.604"),
    ]


@pytest.mark.parametrize("milliseconds", ["-1", "60001", "soon"])
def test_a_deadline_out_of_range_is_refused(reranked, milliseconds):
    answer = reranked.get(f"/v1{SEARCH}&deadline_ms={milliseconds}")
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "deadline_ms")

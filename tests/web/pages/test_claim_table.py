"""The table of claims: an answer each, as a page, CSV and JSON; what failed and what was left out is said in its row."""

import csv
import io
from dataclasses import replace
from itertools import count

import pytest
from browsing import Page, get, send

from mappings.collection import load
from mappings.documents import Access
from mappings.errors import Unavailable
from mappings.stances import STANCES
from search.pipeline.results import Evidence, Hit, HitStance, RerankCoverage, Results
from search.query import Query, Total
from search.understanding.understand import understand
from web.pages.claims import claim_search
from web.pages.claims.claim_page import ClaimPage
from web.pages.claims.claim_search import ClaimAnswer, checked_claims
from web.pages.claims.stances import in_words, missing_in_words, seems_unanswered, summary_of
from web.pages.claims.table_page import COLUMNS, TablePage
from web.use_cases import UseCases

CLAIMS = [
    "Aspirin reduces the risk of stroke",
    "Coffee cuts the number of strokes",
    "=HYPERLINK(1) reduces stroke in adults",
]
TABLE = "/claims/table"
COLLECTION = load("abstracts")


@pytest.fixture
def client(studies_client):
    return studies_client


def given(claims, **further):
    return {"collection": "studies", "claim": claims, **further}


def hit(number, stance=None, probability=None, badges=()):
    label = HitStance(stance, 0.9) if stance else None
    evidence = (Evidence("It was so.", 0, 10, 0.5),)
    fields = {"badges": badges} if badges else {}
    return Hit(
        f"d/{number}",
        f"d/{number}#0",
        0.5,
        f"Study {number}",
        "",
        "It was so.",
        evidence,
        fields=fields,
        stance=label,
        probability=probability,
    )


def results(*hits, **further):
    understood = understand(Query("abstracts", Access("root", frozenset({"*"})), text="claim"))
    return Results(hits, Total(len(hits), "exact"), {}, {}, RerankCoverage(), understood, **further)


def test_headlines_lead_to_a_table_that_can_be_linked_to(client):
    answer = send(client, "/claims", {"collection": "studies", "text": "\n".join(CLAIMS)})
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/claims/table?collection=studies&claim=Aspirin+reduces")
    page = get(client, answer.headers["Location"])
    assert "3 claims" in page.text
    assert page.text.count("Of 5 abstracts read") == 3
    assert "not verdicts" in page.text
    assert page.links("/claim?collection=studies&text=Coffee+cuts")
    assert len(page.links("/document?")) == 3


def test_chosen_sentences_lead_to_the_table(client):
    answer = send(client, TABLE, given(CLAIMS[:2]))
    assert answer.headers["Location"] == (
        "/claims/table?collection=studies&claim=Aspirin+reduces+the+risk+of+stroke&claim=Coffee+cuts+the+number+of+strokes"
    )


def test_a_table_too_long_for_an_address_is_answered_directly(client):
    claims = [f"Aspirin number {number} reduces stroke{' in many adults' * 30}" for number in range(9)]
    answer = send(client, TABLE, given(claims))
    assert (answer.status_code, "too long for an address" in answer.text) == (200, True)
    (button,) = [
        item for item in Page(answer.text).all("button", form="claim-again") if item["value"].endswith("format=csv")
    ]
    assert len(rows(send(client, button["formaction"], {"state": button["value"]}).text)) == 9


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_as_csv_runs_no_formulas(client):
    answer = client.get(TABLE, query_string=given(CLAIMS, format="csv"))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="claims.csv"'
    found = rows(answer.text)
    assert tuple(found[0]) == COLUMNS
    assert [row["claim"] for row in found] == [*CLAIMS[:2], f"'{CLAIMS[2]}"]
    assert [row["read"] for row in found] == ["5"] * 3
    assert all(row["document"].startswith("pm/") and row["stance"] in STANCES for row in found)


def test_the_table_as_json(client):
    found = client.get(TABLE, query_string=given(CLAIMS, format="json")).json
    assert found["collection"] == "studies"
    assert [tuple(row) for row in found["claims"]] == [COLUMNS] * 3
    assert all(sum(row[stance] for stance in STANCES) == row["read"] == 5 for row in found["claims"])


def test_a_format_that_does_not_exist_and_no_claim_at_all_are_mistakes(client):
    assert "known are csv, json" in get(client, TABLE, 400, query_string=given(CLAIMS, format="xls")).text
    assert "no claim was chosen" in get(client, TABLE, 400, query_string=given([" "])).text.lower()


def test_twenty_one_claims_are_refused_by_name(client):
    claims = [f"Claim number {number}" for number in range(21)]
    page = get(client, TABLE, 400, query_string=given(claims))
    assert "leave out 1, beginning with “Claim number 20”" in page.text
    assert checked_claims([*claims[:20], " Claim  number 3 "]) == claims[:20]


def test_a_failing_search_is_a_row_that_says_so(client, monkeypatch):
    real = UseCases.search

    def search(self, query):
        if "Coffee" in query.text:
            raise Unavailable("the engine is down")
        return real(self, query)

    monkeypatch.setattr(UseCases, "search", search)
    page = get(client, TABLE, query_string=given(CLAIMS))
    assert "The search failed: the engine is down." in page.text
    assert page.text.count("Of 5 abstracts read") == 2


def test_the_page_says_for_which_claims_no_time_was_left(client, monkeypatch):
    real, clock = claim_search.search_claims, count(0, 8)
    monkeypatch.setattr(
        "web.pages.claims.routes.search_claims", lambda *given: real(*given, clock=lambda: float(next(clock)))
    )
    page = get(client, TABLE, query_string=given([f"Claim {number} reduces stroke" for number in range(4)]))
    assert "Time was over before 2 of them" in page.text
    assert page.text.count("Left out: the page's 18 seconds were over") == 2
    assert page.links("/claims/table?collection=studies&claim=Claim+2+reduces+stroke&claim=Claim+3+reduces+stroke")


def test_a_collection_without_a_model_says_so(client):
    page = get(client, TABLE, query_string={"collection": "abstracts", "claim": CLAIMS})
    assert "nothing reads what documents say of a claim" in page.text
    assert len(page.links("/document?collection=abstracts")) == 3


def test_private_claims_are_answered_without_an_address(private_client):
    answer = send(private_client, "/claims", {"collection": "studies", "text": "\n".join(CLAIMS)})
    page = Page(answer.text)
    links = [item["href"] for item in page.all("a") if "Coffee" in item.get("href", "")]
    assert len(links) == 1
    assert "Link to this table" in page.text
    assert page.all("button", formaction="/claim")


def test_the_summary_counts_what_was_read():
    hits = [hit(1, "supports"), hit(2, "supports", badges=("retracted",)), hit(3, "refutes"), hit(4, "neither"), hit(5)]
    summary = summary_of(hits, COLLECTION)
    assert summary.words == "of 4 abstracts read, 2 support, 1 refutes, 1 says neither; 1 of the 3 is retracted"
    assert (summary.unread_words, summary.unread) == ("4 of 5 read", 1)
    assert summary_of([hit(1)], COLLECTION).words == ""
    assert summary_of([hit(1)], COLLECTION).unread_words == "none of 1 read"
    assert summary_of([hit(1, "neither")], COLLECTION).words == "of 1 abstract read, 1 says neither"
    assert summary_of([], replace(COLLECTION, sections="none")).noun == "document"


@pytest.mark.parametrize(
    ("probability", "words"),
    [(None, ""), (1.0, "answers"), (0.5, "answers"), (0.49, "related"), (0.2, "related"), (0.1, "weak")],
)
def test_probabilities_are_words(probability, words):
    assert in_words(probability) == words


def test_abstention_is_an_answer():
    assert seems_unanswered(results(hit(1), probability=0.3))
    assert not seems_unanswered(results(hit(1), probability=0.5))
    assert not seems_unanswered(results(hit(1)))
    assert seems_unanswered(results())
    assert missing_in_words(("ivermectin", "mange")) == "no document mentions ivermectin or mange"
    page = TablePage(COLLECTION, ["Ivermectin cures mange"])
    page.show(
        [ClaimAnswer("Ivermectin cures mange", results(hit(1, "neither", 0.1), probability=0.2, missing=("mange",)))]
    )
    (row,) = page.rows
    assert row.notes == ["nothing here seems to answer this", "no document mentions mange"]
    assert row.as_json()["answers"] == "weak"
    assert row.evidence == "It was so."


def test_the_page_of_a_claim_lists_what_was_not_read():
    page = ClaimPage(replace(COLLECTION, stance=None), "Aspirin prevents stroke")
    page.show(results(hit(1, "supports", 0.7), hit(2), hit(3, "supports", 0.3), missing=("mange",), probability=0.4))
    assert [(stance, [item.view.number for item in hits]) for stance, _, hits in page.columns] == [
        ("supports", [1, 3]), ("refutes", []), ("neither", []),
    ]  # fmt: skip
    assert [item.view.number for item in page.unread] == [2]
    assert [item.answers for item in page.hits] == ["answers", "", "related"]
    assert page.abstention == ["nothing here seems to answer this", "no document mentions mange"]
    assert page.why_unread == ""

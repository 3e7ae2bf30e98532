"""The pages as HTML: what they show, link and refuse. The browser tests look at them rendered."""

import re
from dataclasses import replace

import pytest
from browsing import Page, get, send
from portal_home import settings_of

from mappings.collection import SHIPPED_KINDS
from mappings.documents import Access
from search.pipeline.explanation import explain
from search.ranking.candidates import Candidate, LegContributions, Level, RerankScore
from search.settings import Settings
from web import create_app
from web.access import tokens
from web.pages.explanations import ExplanationRow, explanation_table
from web.pages.routes import local_address

EVERYBODY = Access("root", frozenset({"*"}))


def test_the_start_page_asks(client):
    page = get(client, "/")
    assert [attrs["href"] for attrs in page.all("a") if attrs.get("aria-current")] == ["/search?collection=abstracts"]
    assert page.all("textarea", name="text")
    assert "Search research abstracts" in page.text


def test_an_answer_shows_evidence_links_and_counts(client):
    page = get(client, "/search?collection=abstracts&text=aspirin+stroke")
    assert "1 document matches the words" in page.text
    assert "Aspirin reduced stroke in adults." in page.text
    assert page.links("/document?collection=abstracts&id=pm%2F2&passage=pm%2F2%401%230&mark=")[0].endswith("#evidence")
    assert page.links("/search?collection=abstracts&text=aspirin+stroke&filter.journal=Brain")
    assert page.links("/v1/search?collection=abstracts&text=aspirin+stroke&format=ris")
    assert "Words (BM25)" in page.text
    assert "Words matched: aspirin, stroke" in page.text


def test_input_is_escaped(client):
    answer = client.get(
        "/search",
        query_string={
            "collection": "abstracts",
            "text": '</textarea><script>alert(1)</script>"',
            "filter.journal": "<b>",
        },
    )
    assert "<script>alert" not in answer.text
    assert "<b>" not in answer.text.replace("<b class", "")


def test_a_chosen_filter_can_be_removed(client):
    page = get(client, "/search?collection=abstracts&text=statins&filter.journal=Heart&filter.year=2015..2020")
    assert "/search?collection=abstracts&text=statins&filter.year=2015..2020" in page.links("/search")
    assert "Year: 2015 to 2020" in page.text
    assert (page.value("from.year"), page.value("to.year")) == ("2015", "2020")
    assert page.value("filter.journal") == "Heart"
    assert not page.all("input", name="filter.year")


def test_a_patient_s_other_documents_are_linked(client):
    page = get(client, "/search?collection=notes&text=pneumonia")
    assert "1 more document of this patient" in page.text
    assert {"Chest radiograph", "Discharge summary"} <= {words.strip() for words in page.words}
    assert "5 January 2020" in page.text
    assert "9 January 2020" in page.text
    assert len(page.links("/document?collection=notes&id=p1%2Fn")) == 2


def test_the_form_leads_to_an_address(client):
    form = {
        "collection": "abstracts",
        "text": " statins\nin adults",
        "entity": "",
        "from.year": "2015",
        "to.year": "",
        "sort": "-year",
        "filter.journal": "Heart",
    }
    answer = send(client, "/search", form)
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/search?collection=abstracts&text=+statins%0Ain+adults&sort=-year&filter.journal=Heart&filter.year=2015..",
    )


def test_a_long_text_is_answered_without_a_redirect(client):
    text = "Statins lowered mortality. " * 300
    answer = send(client, "/search", {"collection": "abstracts", "text": text})
    assert answer.status_code == 200
    page = Page(answer.text)
    buttons = page.all("button", form="again", name="state")
    assert {"value": "collection=abstracts&filter.journal=Heart"}.items() <= next(
        item for item in buttons if "journal=Heart" in item["value"]
    ).items()
    narrowed = send(
        client, "/search", {"text": text, "state": "collection=abstracts&filter.journal=Heart&filter.year=2015..2015"}
    )
    assert re.findall(r'<h3 id="title-\d+">', narrowed.text) == ['<h3 id="title-1">']
    assert not page.links("/v1/search")


@pytest.mark.parametrize(
    ("size", "status", "words"),
    [(100_000, 400, "at most 10000 characters"), (2_100_000, 413, "larger than 2,000,000 bytes")],
)
def test_a_text_that_is_too_long_is_refused_on_a_page(client, size, status, words):
    answer = send(client, "/search", {"collection": "abstracts", "text": "a" * size})
    assert answer.status_code == status
    assert answer.mimetype == "text/html"
    assert words in answer.text


def test_pages_follow_each_other(client):
    first = get(client, "/search?collection=abstracts&text=adults+statins&size=2")
    (following,) = [link for link in first.links("/search") if "cursor=" in link]
    second = get(client, following)
    titles = [{link.split("&passage")[0] for link in page.links("/document")} for page in (first, second)]
    assert not titles[0] & titles[1]
    assert "/search?collection=abstracts&text=adults+statins&size=2" in second.links("/search")


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/search?collection=nothing&text=a", 400, "There is no collection 'nothing'; there are: abstracts, notes."),
        ("/search?collection=abstracts&text=a&size=1000", 400, "Less than or equal to 100"),
        ("/search?collection=abstracts&text=a&filter.colour=red", 400, "its fields are year, source"),
        ("/search?collection=abstracts&text=a&cursor=forged", 400, "Back to the first page"),
        ("/search?collection=abstracts&text=a&q=b", 400, "There is no parameter 'q'"),
        ("/document?collection=abstracts&id=none", 404, "There is no document 'none'"),
        ("/document?collection=nothing&id=none", 400, "There is no collection 'nothing'"),
        ("/cite?collection=abstracts&id=pm/1&format=docx", 400, "known are json, ris, bibtex, csv"),
        ("/nothing", 404, "There is nothing at this address"),
    ],
)
def test_an_error_is_shown_on_a_page(client, address, status, words):
    assert words.lower() in get(client, address, status).text.lower()


def test_a_collection_that_searches_twice_says_so(home, tmp_path):
    shipped = (SHIPPED_KINDS / "abstracts.toml").read_text(encoding="utf-8")
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds/abstracts.toml").write_text(
        f"{shipped}\n[feedback]\npassages = 2\nshare = 0.5\n", encoding="utf-8"
    )
    settings = replace(settings_of(home), collections=tmp_path / "kinds")
    client = create_app(settings).test_client()
    answer = client.get("/v1/search?collection=abstracts&text=statins").json
    assert len(answer["understood"]["feedback"]) == 2
    page = get(client, "/search?collection=abstracts&text=statins")
    assert "Searched twice: the second time with the best 2 passages of the first answer." in page.text
    assert "Searched twice" not in get(client, "/search?collection=notes&text=pneumonia").text


def test_a_chosen_year_can_be_removed(client):
    page = get(client, "/search?collection=abstracts&text=statins&filter.year=2020")
    chosen = [attrs["href"] for attrs in page.all("a", **{"class": "value"}) if attrs.get("aria-current")]
    assert chosen == ["/search?collection=abstracts&text=statins"]


def test_an_empty_result_suggests_what_to_try(client):
    page = get(client, "/search?collection=abstracts&text=zzzz&filter.journal=Nothing")
    assert "Nothing was found" in page.text
    assert "/search?collection=abstracts&text=zzzz" in page.links("/search")


def test_a_document_marks_its_evidence(client):
    link = get(client, "/search?collection=notes&text=effusion").links("/document?collection=notes&id=p2")[0]
    page = get(client, link.partition("#")[0])
    assert page.all("mark") == [{"id": "evidence"}]
    assert "Pneumonia with large effusion ." in page.text
    assert page.links("/cite?collection=notes&id=p2%2Fn1&format=ris")


def test_a_document_leads_back_to_its_search(client):
    link = get(client, "/search?collection=abstracts&text=aspirin").links("/document?collection=abstracts")[0]
    assert "/search?collection=abstracts&text=aspirin" in get(client, link.partition("#")[0]).links("/search")


def test_a_changed_document_has_no_marked_evidence(client):
    page = get(client, "/document?collection=notes&id=p2/n1&passage=p2/n1@7%230&mark=0-5&mark=x&mark=9999999-1")
    assert page.all("mark") == []


def test_without_collections_the_page_explains_what_to_do(tmp_path):
    client = create_app(Settings(home=tmp_path)).test_client()
    assert "medley demo" in get(client, "/").text
    assert client.get("/readyz").status_code == 503


# Headers


@pytest.mark.parametrize("path", ["/", "/v1/collections", "/v1/nothing", "/healthz"])
def test_every_answer_has_protective_headers_and_is_not_cached(client, path):
    headers = client.get(path).headers
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"]) == (
        "nosniff",
        "no-referrer",
        "no-store",
    )


def test_static_files_can_be_cached(client):
    for link in [attrs["href"] for attrs in get(client, "/").all("link")]:
        with client.get(link) as answer:
            assert answer.headers["Cache-Control"] == "public, max-age=86400"


# Logging in


@pytest.fixture
def ada(home):
    return tokens.add(home, "ada", ["ward-7"])


def test_a_page_leads_to_the_login_and_back(client, ada):
    answer = client.get("/search?collection=notes&text=pneumonia")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/login?next=/search?collection%3Dnotes%26text%3Dpneumonia",
    )
    following = get(client, answer.headers["Location"]).value("next")
    entered = send(client, "/login", {"token": ada, "next": following})
    assert (entered.status_code, entered.headers["Location"]) == (303, "/search?collection=notes&text=pneumonia")
    page = get(client, entered.headers["Location"])
    assert "2 documents match the words" in page.text
    assert "ada" in page.text


def test_the_session_cookie_is_guarded(client, ada):
    cookie = send(client, "/login", {"token": ada}).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    secure = send(client, "/login", {"token": ada}, base_url="https://localhost").headers["Set-Cookie"]
    assert "Secure" in secure


def test_a_wrong_token_is_refused_on_the_page(client, ada):
    answer = send(client, "/login", {"token": ada[:-1]})
    assert answer.status_code == 401
    assert "This token is not valid" in answer.text
    assert ada[:-1] not in answer.text
    assert client.get("/").status_code == 303


def test_logins_are_logged(client, ada, logged):
    send(client, "/login", {"token": "medley_a_b"})
    send(client, "/login", {"token": ada})
    assert [(line["action"], line["user"], line["status"]) for line in logged()] == [
        ("login", None, 401),
        ("login", "ada", 200),
    ]
    assert ada not in str(logged())


def test_a_login_that_cannot_be_logged_opens_no_session(client, ada, home):
    (home / "access.log").mkdir()
    assert send(client, "/login", {"token": ada}).status_code == 503
    assert client.get("/").status_code == 303


def test_logging_out_ends_the_session(client, ada):
    send(client, "/login", {"token": ada})
    assert send(client, "/logout", {}).headers["Location"] == "/login"
    assert client.get("/").status_code == 303


def test_a_revoked_token_ends_its_sessions_at_once(client, ada, home):
    send(client, "/login", {"token": ada})
    assert client.get("/").status_code == 200
    tokens.revoke(home, ada.split("_")[1])
    assert client.get("/").status_code == 303
    assert client.get("/v1/collections").status_code == 401


def test_a_session_can_read_the_api_but_not_write(client, ada):
    send(client, "/login", {"token": ada})
    assert client.get("/v1/search?collection=notes&text=pneumonia").json["total"]["value"] == 2
    assert client.post("/v1/search", json={"collection": "notes", "text": "pneumonia"}).status_code == 401


@pytest.mark.parametrize("address", ["/login", "/logout", "/search"])
@pytest.mark.parametrize("csrf", [None, "", "wrong", "\udc80"])
def test_a_form_without_its_token_is_refused(client, ada, address, csrf):
    send(client, "/login", {"token": ada})
    form = {"token": ada, "text": "a"} | ({} if csrf is None else {"csrf": csrf.encode("utf-8", "surrogateescape")})
    answer = client.post(address, data=form)
    assert answer.status_code == 403
    assert "The form has expired" in answer.text


def test_a_form_of_another_session_is_refused(app, ada):
    mine, theirs = app.test_client(), app.test_client()
    foreign = get(theirs, "/login").value("csrf")
    get(mine, "/login")
    assert mine.post("/login", data={"csrf": foreign, "token": ada}).status_code == 403


@pytest.mark.parametrize("value", ["forged", "eyJ0b2tlbiI6ImFiYyJ9.abc.def", ""])
def test_a_forged_cookie_opens_nothing(client, app, ada, value):
    client.set_cookie(app.config["SESSION_COOKIE_NAME"], value)
    assert client.get("/").status_code == 303


def test_a_cookie_altered_by_a_letter_opens_nothing(client, app, ada):
    send(client, "/login", {"token": ada})
    name = app.config["SESSION_COOKIE_NAME"]
    value = client.get_cookie(name).value
    client.set_cookie(name, value[:-2] + ("A" if value[-2] != "A" else "B") + value[-1])
    assert client.get("/").status_code == 303


def test_workers_share_their_sessions(home, ada):
    one, other = create_app(settings_of(home)), create_app(settings_of(home))
    client = one.test_client()
    send(client, "/login", {"token": ada})
    name = one.config["SESSION_COOKIE_NAME"]
    second = other.test_client()
    second.set_cookie(name, client.get_cookie(name).value)
    assert second.get("/").status_code == 200


@pytest.mark.parametrize(
    "address", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "", "/a\nb"]
)
def test_a_login_redirects_only_within_the_portal(client, app, address):
    with app.test_request_context():
        assert local_address(address) == "/"


# The explanation


def test_an_explanation_is_a_sum():
    candidate = Candidate(
        "d@1#0",
        "d",
        0.84,
        LegContributions(
            {
                "bm25": (("a@1#0", "d@1#0"), (20.0, 10.0), (1.0, 0.5), 0.5),
                "dense": (("d@1#0",), (0.9,), (1.0,), 0.5),
            }
        ),
        RerankScore(0.75, logit=2.5, normalised=0.9, weight=0.6),
    )
    shown = explanation_table(explain(candidate, ["fever"], EVERYBODY))
    assert list(shown.rows) == [
        ExplanationRow("Words (BM25)", "2", "10.000", "0.500", "0.500", "0.250"),
        ExplanationRow("Meaning (dense)", "1", "0.900", "1.000", "0.500", "0.500"),
        ExplanationRow("Fused", "", "", "", "", "0.750", "sum"),
        ExplanationRow("Fused", "", "", "0.750", "0.400", "0.300"),
        ExplanationRow("Cross-encoder", "", "0.924", "0.900", "0.600", "0.540"),
        ExplanationRow("Score", "", "", "", "", "0.840", "total"),
    ]


def test_a_hit_that_was_not_reranked_is_explained():
    legs = LegContributions({"bm25": (("d@1#0",), (3.0,), (1.0,), 0.5)})
    level = Level(1, 2)
    candidate = Candidate("d@1#0", "d", level.place(0.5), legs, RerankScore(0.5), level=level)
    rows = explanation_table(explain(candidate, [], EVERYBODY)).rows
    assert [(row.name, row.weight, row.share) for row in rows[1:]] == [
        ("Fused", "", "0.500"),
        ("Fused", "0.495", "0.247"),
        ("Level", "", "0.005"),
        ("Score", "", "0.253"),
    ]

"""Judging hits on pages: journeys, what is kept, two users, two tabs, private texts, and bad input."""

import json
import re
import shutil

import pytest
import studies_home
from browsing import Page, get, send

from mappings.documents import Access, Deletion
from mappings.errors import Unavailable
from search.kept.items import KeptDraft
from web import create_app
from web.judgements import use_cases
from web.judgements.use_cases import JudgementUseCases

CLAIM = "Aspirin prevents strokes"
STUDIES_CLAIM = "Aspirin reduces the risk of stroke in adults"


def searched(client, text=CLAIM, collection="abstracts", **sent):
    return get(client, "/search", query_string={"collection": collection, "text": text}, **sent)


def form_of(page, document):
    """The hidden fields of the form that judges the hit for a document."""
    forms, fields = [], {}
    for tag, attrs in page.elements:
        if tag == "form":
            fields = {}
            forms.append((attrs.get("action", ""), fields))
        elif tag == "input" and attrs.get("type") == "hidden":
            fields[attrs["name"]] = attrs.get("value", "")
    (found,) = [
        fields for action, fields in forms if action.startswith("/judgements#hit-") and fields["document"] == document
    ]
    return found


def judged(client, form, status=303, **sent):
    answer = send(client, "/judgements", form, **sent)
    assert answer.status_code == status, answer.text
    return answer.headers["Location"] if status == 303 else Page(answer.text)


def kept(client, **sent):
    return client.get("/v1/kept?kind=judgements", **sent).json["items"]


def contents(client, **sent):
    """The judgements of each item, without their moments."""
    return [
        [{name: value for name, value in one.items() if name != "at"} for one in item["content"]["judgements"]]
        for item in kept(client, **sent)
    ]


@pytest.fixture
def readers(studies, tmp_path):
    """A portal over studies whose stances are read, for one test."""
    return portal(shutil.copytree(studies, tmp_path / "studies"))


@pytest.fixture
def private_readers(private_studies, tmp_path):
    return portal(shutil.copytree(private_studies, tmp_path / "private"))


def portal(folder):
    app = create_app(studies_home.settings_of(folder))
    app.testing = True
    return app.test_client()


def test_a_hit_is_judged_and_shows_it_on_the_same_page(client):
    page = searched(client)
    assert "Does this answer? Hit 1" in page.text
    form = form_of(page, "pm/2")
    back = judged(client, form | {"grade": "2"})
    assert back == "/search?collection=abstracts&text=Aspirin+prevents+strokes"
    page = get(client, back)
    assert "You: yes Hit" in page.text
    assert [attrs["value"] for attrs in page.all("input", name="grade") if "checked" in attrs] == ["2"]
    assert contents(client) == [
        [{"text": CLAIM, "document": "pm/2", "passage": "pm/2@1#0", "grade": 2, "stance": None}]
    ]
    (item,) = kept(client)
    assert (item["name"], item["collection"], item["shared_with"]) == ("abstracts", "abstracts", [])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", item["content"]["judgements"][0]["at"])
    assert "You: yes" not in searched(client, "statins mortality").text
    assert "You: yes" in searched(client, "ASPIRIN  prevents strokes").text


def test_judging_again_replaces_and_withdrawing_removes(client):
    form = form_of(searched(client), "pm/2")
    judged(client, form | {"grade": "2"})
    judged(client, form_of(searched(client, "statins mortality"), "pm/1") | {"grade": "1"})
    judged(client, form | {"grade": "0"})
    assert [one["grade"] for one in contents(client)[0]] == [0, 1]
    page = searched(client)
    assert "You: no" in page.text
    (action,) = [attrs["formaction"] for attrs in page.all("button") if "withdraw" in attrs.get("formaction", "")]
    assert action.startswith("/judgements/withdraw#hit-")
    assert send(client, "/judgements/withdraw", form).headers["Location"].startswith("/search?")
    assert [one["document"] for one in contents(client)[0]] == ["pm/1"]
    assert "You:" not in searched(client).text
    send(client, "/judgements/withdraw", form)
    assert len(contents(client)[0]) == 1


def test_the_last_judgement_takes_its_item_along(client):
    form = form_of(searched(client), "pm/2")
    judged(client, form | {"grade": "2"})
    send(client, "/judgements/withdraw", form)
    assert kept(client) == []


def test_the_list_has_ones_own_judgements_and_withdraws_them(client):
    judged(client, form_of(searched(client), "pm/2") | {"grade": "1"})
    assert get(client, "/saved").links("/judgements") == ["/judgements"]
    page = get(client, "/judgements")
    assert "Aspirin for prevention of stroke : partly abstracts, " in page.text
    assert page.links("/search?") == ["/search?collection=abstracts&text=Aspirin+prevents+strokes"]
    (link,) = page.links("/document?")
    get(client, link)
    fields = {name: page.value(name) for name in ("collection", "document", "passage", "text")}
    assert send(client, "/judgements/withdraw", fields).headers["Location"] == "/judgements"
    assert "Nothing yet" in get(client, "/judgements").text


def test_the_list_has_pages(client, monkeypatch):
    monkeypatch.setattr("web.pages.judgements.routes.ON_A_PAGE", 2)
    for text in ("aspirin stroke", "aspirin adults", "aspirin bleeding"):
        judged(client, form_of(searched(client, text), "pm/2") | {"grade": "1"})
    page = get(client, "/judgements")
    assert page.links("/judgements?first=") == ["/judgements?first=2"]
    assert len(get(client, "/judgements?first=2").links("/document?")) == 1
    for odd in ("x", "-1", "9" * 30, "²"):
        assert len(get(client, f"/judgements?first={odd}").links("/document?")) == 2


def test_where_stances_are_read_the_reader_says_what_a_hit_says(readers):
    page = searched(readers, STUDIES_CLAIM, "studies")
    form = form_of(page, "pm/4")
    judged(readers, form | {"stance": "refutes"})
    judged(readers, form_of(page, "pm/1") | {"grade": "2", "stance": "supports"})
    page = searched(readers, STUDIES_CLAIM, "studies")
    assert "You: refutes" in page.text
    assert "You: yes, supports" in page.text
    assert [(one["grade"], one["stance"]) for one in contents(readers)[0]] == [(None, "refutes"), (2, "supports")]
    claim = get(readers, "/claim", query_string={"collection": "studies", "text": STUDIES_CLAIM})
    assert "You: yes, supports" in claim.text
    form = form_of(claim, "pm/2")
    back = judged(readers, form | {"grade": "0"})
    assert back == "/claim?collection=studies&text=Aspirin+reduces+the+risk+of+stroke+in+adults"
    assert "You: no" in get(readers, back).text


def test_without_a_stance_there_is_no_question_for_it(client):
    assert not [attrs for attrs in searched(client).all("select") if attrs.get("name") == "stance"]


def test_private_texts_are_judged_without_an_address(private_readers):
    form = {"collection": "studies", "text": STUDIES_CLAIM}
    page = Page(send(private_readers, "/search", form).text)
    answer = send(private_readers, "/judgements", form_of(page, "pm/2") | {"grade": "1"})
    assert (answer.status_code, answer.headers.get("Location")) == (200, None)
    assert "You: partly" in Page(answer.text).text
    claim = Page(send(private_readers, "/claim", form).text)
    answer = send(private_readers, "/judgements", form_of(claim, "pm/1") | {"grade": "2", "stance": "supports"})
    assert answer.status_code == 200
    page = Page(answer.text)
    assert "You: yes, supports" in page.text
    assert "You: partly" in page.text
    for shown in (page, get(private_readers, "/judgements")):
        addresses = [attrs.get(name, "") for _, attrs in shown.elements for name in ("href", "action", "formaction")]
        assert [item for item in addresses if "risk" in item and not item.startswith("/claim?")] == []


def test_a_saved_search_is_judged_on_its_page(client):
    saved = {"search": "collection=abstracts&text=aspirin", "name": "One"}
    address = send(client, "/saved/searches", saved).headers["Location"]
    assert judged(client, form_of(get(client, address), "pm/2") | {"grade": "2"}) == address
    assert "You: yes" in get(client, address).text


def test_a_later_page_is_shown_again(client):
    first = get(client, "/search?collection=abstracts&text=statins+adults&size=1")
    (following,) = [link for link in first.links("/search?") if "cursor=" in link]
    second = get(client, following)
    document = next(attrs["value"] for attrs in second.all("input", name="document"))
    assert judged(client, form_of(second, document) | {"grade": "2"}) == following
    assert "You: yes" in get(client, following).text


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"grade": ""}, 400, "say whether it answers"),
        ({"grade": "3"}, 400, "3 is not a grade"),
        ({"grade": "yes"}, 400, "'yes' is not a grade"),
        ({"grade": "²"}, 400, "is not a grade"),
        ({"grade": "1" * 5_000}, 400, "is not a grade"),
        ({"stance": "agrees"}, 400, "must be one of supports, refutes, neither"),
        ({"passage": "pm/1@1#0"}, 400, "of another document"),
        ({"passage": "pm/2@1#7"}, 409, "has changed since"),
        ({"passage": "pm/2@9#0"}, 409, "has changed since"),
        ({"passage": ""}, 400, "of another document"),
        ({"document": "pm/99", "passage": "pm/99@1#0"}, 404, "no document"),
        ({"document": "secret/1", "passage": "secret/1@1#0"}, 404, "no document"),
        ({"collection": "nowhere"}, 400, "there is no collection"),
        ({"collection": "notes", "document": "p1/n1", "passage": "p1/n1@1#0"}, 400, "there is no collection"),
        ({"text": "t" * 10_000}, 400, "at most 2,000 characters, and this has 10,000"),
        ({"text": " \n"}, 400, "there is no text"),
    ],
)
def test_what_can_not_be_judged_says_why_and_nothing_is_kept(client, token, changes, status, words):
    ada = token("ada", "public")
    form = form_of(searched(client, headers=ada), "pm/2") | {"grade": "2"}
    assert words in judged(client, form | changes, status, headers=ada).text.lower()
    assert kept(client, headers=ada) == []


def test_hits_of_patients_are_not_judged(client):
    page = Page(send(client, "/search", {"collection": "notes", "text": "pneumonia"}).text)
    assert "Does this answer?" not in page.text
    form = {"collection": "notes", "document": "p1/n1", "passage": "p1/n1@1#0", "text": "x", "grade": "1"}
    assert "collections of studies" in judged(client, form, 400).text


def test_a_text_that_is_too_long_or_missing_has_no_form(client):
    assert "Does this answer?" not in searched(client, "aspirin reduced stroke " * 100).text
    assert "Does this answer?" not in get(client, "/search?collection=abstracts&entity=stroke").text


@pytest.mark.parametrize(
    "text",
    ["الأسبرين aspirin يمنع السكتات", "aspirin 可以预防中风", "<script>alert('x')</script> & \"aspirin reduced\""],
)
def test_any_script_is_kept_and_escaped(client, text):
    judged(client, form_of(searched(client, text), "pm/2") | {"grade": "2"})
    assert contents(client)[0][0]["text"] == text
    for answer in (client.get("/judgements"), client.get("/search", query_string={"collection": "abstracts", "text": text})):  # fmt: skip
        assert "<script>alert" not in answer.text
        assert text in "".join(Page(answer.text).words)
    assert Page(client.get("/judgements").text).all("p", dir="auto")


def test_of_two_users_neither_sees_what_the_other_thinks(client, token):
    ada, bob = token("ada", "public"), token("bob", "public", "embargo")
    form = form_of(searched(client, headers=ada), "pm/2")
    judged(client, form | {"grade": "2"}, headers=ada)
    assert "You:" not in searched(client, headers=bob).text
    assert kept(client, headers=bob) == []
    assert "Nothing yet" in get(client, "/judgements", headers=bob).text
    judged(client, form_of(searched(client, headers=bob), "pm/2") | {"grade": "0"}, headers=bob)
    assert "You: yes" in searched(client, headers=ada).text
    assert "You: no" in searched(client, headers=bob).text
    send(client, "/judgements/withdraw", form, headers=bob)
    assert [one["grade"] for one in contents(client, headers=ada)[0]] == [2]


def test_a_deleted_document_stays_in_the_list_and_can_be_withdrawn(client, store):
    form = form_of(searched(client), "pm/2")
    judged(client, form | {"grade": "2"})
    store.put([Deletion("pm/2")])
    page = get(client, "/judgements")
    assert "pm/2 no longer there : yes" in page.text
    assert page.links("/document?") == []
    judged(client, form | {"grade": "1"}, 404)
    send(client, "/judgements/withdraw", form)
    assert kept(client) == []


def test_a_nearly_full_item_is_left_and_another_begun(client, app):
    medley = app.extensions["medley"].medley
    judged(client, form_of(searched(client), "pm/2") | {"grade": "2"})
    (item,) = medley.kept.export()
    full = [judgement(f"{number:03} {'t' * 1_700}") for number in range(33)]
    one = item.content["judgements"][0] | {"grade": None, "stance": "neither"}
    draft = KeptDraft("judgements", item.name, {"judgements": [one, *full]}, "abstracts")
    medley.kept.replace(Access(item.owner, frozenset({"*"})), item.id, 1, draft)
    other = form_of(searched(client, "statins mortality"), "pm/1")
    judged(client, other | {"grade": "1"})
    judged(client, form_of(searched(client, "statins mortality"), "pm/4") | {"grade": "0"})
    judged(client, form_of(searched(client), "pm/2") | {"grade": "1"})  # a replaced one stays where it is
    assert [(it["name"], len(it["content"]["judgements"])) for it in kept(client)] == [
        ("abstracts", 34),
        ("abstracts (2)", 2),
    ]
    assert "You: partly" in searched(client).text
    assert "You: no" in searched(client, "statins mortality").text


def judgement(text, document="pm/2"):
    at = "2026-11-12T09:30:00+00:00"
    return {
        "text": text,
        "document": document,
        "passage": f"{document}@1#0",
        "grade": None,
        "stance": "neither",
        "at": at,
    }


def test_judgements_that_fill_an_item_can_still_be_replaced():
    """The space that is left for it fits the shortest possible judgements."""
    shortest = judgement("t", "d") | {"grade": 0, "stance": None}
    most = use_cases.NEARLY_FULL // len(json.dumps(shortest, separators=(",", ":")))
    assert use_cases.NEARLY_FULL + 6 * most <= 64_000


def test_a_judgement_is_repeated_where_another_tab_came_between(client, monkeypatch):
    judged(client, form_of(searched(client), "pm/2") | {"grade": "2"})
    form = form_of(searched(client, "statins mortality"), "pm/1") | {"grade": "1"}
    keep, calls = JudgementUseCases._replace, []

    def raced(self, item, judgements):
        calls.append(item.revision)
        if len(calls) == 1:
            keep(self, item, use_cases.judgements_of(item))
        return keep(self, item, judgements)

    monkeypatch.setattr(JudgementUseCases, "_replace", raced)
    judged(client, form)
    assert calls == [1, 2]
    assert [one["document"] for one in contents(client)[0]] == ["pm/2", "pm/1"]


def test_forms_need_their_token(client):
    for where in ("/judgements", "/judgements/withdraw"):
        assert client.post(where, data={"grade": "1"}).status_code == 403


def test_texts_stay_out_of_the_access_log(client, logged):
    judged(client, form_of(searched(client, "aspirin unmentionable"), "pm/2") | {"grade": "2"})
    get(client, "/judgements")
    lines = [line for line in logged() if line["action"] != "search"]
    assert "unmentionable" not in json.dumps(lines)
    assert [line["action"] for line in lines] == ["document", "kept list", "kept add", "kept list"]


def test_judgements_over_the_api_are_checked_and_not_shared(client, token):
    ada = token("ada", "public", "desk")
    item = {
        "kind": "judgements",
        "name": "mine",
        "collection": "abstracts",
        "content": {"judgements": [judgement("aspirin")]},
    }
    assert client.post("/v1/kept", json=item, headers=ada).status_code == 201
    assert "You: says neither" in searched(client, "aspirin", headers=ada).text
    for changes, field in (
        ({"shared_with": ["desk"]}, "shared_with"),
        ({"collection": ""}, "collection"),
        ({"content": {"judgements": [judgement("")]}}, "content.judgements.0.text"),
    ):
        answer = client.post("/v1/kept", json=item | {"name": "other"} | changes, headers=ada)
        assert (answer.status_code, answer.json["error"]["field"]) == (400, field)


def test_hits_are_shown_where_what_users_keep_can_not_be_read(client, monkeypatch, app):
    judged(client, form_of(searched(client), "pm/2") | {"grade": "2"})

    def away(*_):
        raise Unavailable("the store is away")

    monkeypatch.setattr(type(app.extensions["medley"].medley.kept), "list_items", away)
    assert "Does this answer?" in searched(client).text

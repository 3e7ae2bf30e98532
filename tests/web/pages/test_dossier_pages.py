"""Dossiers on pages: from a search to a file in three actions, verdicts, two tabs, readers, documents that go, bad input."""

import json
import re
from dataclasses import replace

import pytest
import rispy
from browsing import Page, get, send

from mappings.documents import Access, Deletion
from mappings.dossiers.changes import with_claim
from search.kept.items import KeptDraft
from web.dossiers.use_cases import DossierUseCases

CLAIM = "Aspirin prevents strokes"


def changed(client, address, form, status=303, **sent):
    answer = send(client, address, form, **sent)
    assert answer.status_code == status, answer.text
    return answer.headers["Location"] if status == 303 else Page(answer.text)


def searched(client, text=CLAIM, **sent):
    return get(client, f"/search?collection=abstracts&text={text}", **sent)


def form_of(page, document):
    """The fields of the form "Add to dossier" below the hit for a document."""
    forms, fields = [], {}
    for tag, attrs in page.elements:
        if tag == "form":
            fields = {"mark": []}
            forms.append((attrs.get("action"), fields))
        elif tag == "input" and attrs.get("name") == "mark":
            fields["mark"].append(attrs["value"])
        elif tag == "input" and "name" in attrs:
            fields[attrs["name"]] = attrs.get("value", "")
    (found,) = [fields for action, fields in forms if action == "/dossiers/evidence" and fields["document"] == document]
    return found


def begun(client, text=CLAIM, document="pm/2", **sent):
    """The address of a new dossier with one claim and one piece of evidence."""
    form = form_of(searched(client, text, **sent), document) | {"dossier": ""}
    return changed(client, "/dossiers/evidence", form, **sent).partition("#")[0]


def revision(client, address, **sent):
    return get(client, address, **sent).value("revision")


def exported(client, address, name, **sent):
    answer = client.get(f"{address}/export?format={name}", **sent)
    assert answer.status_code == 200, answer.text
    return answer


def content(client, address, **sent):
    return client.get(address.replace("/dossiers/", "/v1/kept/"), **sent).json["content"]


def test_from_a_search_to_ris_in_three_actions(client):
    form = form_of(searched(client), "pm/2")
    address = changed(client, "/dossiers/evidence", form | {"dossier": ""})
    assert re.fullmatch(r"/dossiers/[0-9a-f]{16}#claim-1", address)
    page = get(client, address.partition("#")[0])
    (ris,) = [link for link in page.links("/dossiers/") if link.endswith("format=ris")]
    answer = client.get(ris)
    assert rispy.loads(answer.text) == [
        {
            "type_of_reference": "JOUR",
            "title": "Aspirin for prevention of stroke",
            "alternate_title3": "Brain",
            "journal_name": "Brain",
            "year": "2018",
            "name_of_database": "abstracts",
            "id": "pm/2",
            "notes": [f"Claim: {CLAIM} (verdict: unrated). Quote: Results: Aspirin reduced stroke in adults."],
        }
    ]
    assert answer.headers["Content-Disposition"] == 'attachment; filename="dossier-Aspirin-prevents-strokes.ris"'


def test_the_page_has_the_claim_the_quote_and_a_link_to_its_sentence(client):
    page = get(client, begun(client))
    assert "Verdict: unrated" in page.text
    assert "Aspirin reduced stroke in adults." in page.text
    assert "Brain · 2018 · abstracts: pm/2" in page.text
    (link,) = page.links("/document?")
    assert "Aspirin reduced stroke in adults." in get(client, link).text
    assert link.endswith("#evidence")
    assert 'id="evidence"' in client.get(link.partition("#")[0]).text


def test_the_same_text_gets_more_evidence_and_the_same_sentences_are_refused(client):
    address = begun(client, "statins mortality", "pm/1")
    identifier = address.rpartition("/")[2]
    again = form_of(searched(client, "Statins  MORTALITY"), "pm/4") | {"dossier": identifier}
    changed(client, "/dossiers/evidence", again)
    (claim,) = content(client, address)["claims"]
    assert [(item["number"], item["document"]) for item in claim["evidence"]] == [(1, "pm/1"), (2, "pm/4")]
    refused = changed(client, "/dossiers/evidence", again, 409)
    assert "These sentences are evidence for the claim already." in refused.text
    other = form_of(searched(client, "statins in the old"), "pm/4") | {"dossier": identifier}
    assert changed(client, "/dossiers/evidence", other).endswith("#claim-2")
    assert [item["number"] for item in content(client, address)["claims"]] == [1, 2]
    assert len(rispy.loads(exported(client, address, "ris").text)) == 2


def test_a_hit_offers_the_dossiers_of_the_caller_and_a_second_new_one_gets_its_own_name(client):
    first = begun(client)
    options = [attrs["value"] for attrs in searched(client).all("option") if len(attrs["value"]) in (0, 16)]
    assert {first.rpartition("/")[2], ""} <= set(options)
    begun(client)
    assert f"{CLAIM} (2)" in get(client, "/dossiers").text


def test_patients_have_no_dossiers(client):
    page = Page(send(client, "/search", {"collection": "notes", "text": "pneumonia"}).text)
    assert "Add to dossier" not in page.text
    form = {"collection": "notes", "document": "p1/n1", "passage": "p1/n1@1#0", "claim": "x"}
    assert "collections of studies" in changed(client, "/dossiers/evidence", form, 400).text


def test_a_dossier_is_created_rated_annotated_renamed_and_deleted(client):
    address = changed(client, "/dossiers", {"name": "Week 12"})
    assert "There is no claim yet" in get(client, address).text
    changed(client, f"{address}/claims", {"claim": " Coffee\ncures gout ", "revision": "1"})
    rating = {"verdict": "mostly false", "notes": "One\r\ntrial.", "source": "https://news.example/1", "revision": "2"}
    assert changed(client, f"{address}/claims/1", rating) == f"{address}#claim-1"
    page = get(client, address)
    assert "Verdict: mostly false" in page.text
    assert page.links("https://news.example/1")
    assert "Changed the verdict on “Coffee cures gout” from unrated to mostly false" in page.text
    changed(client, address, {"name": "Week 13", "revision": "3"})
    assert "Week 13 1 claim: 1 mostly false · changed" in get(client, "/dossiers").text
    form = form_of(searched(client), "pm/2") | {"dossier": address.rpartition("/")[2], "claim": "coffee cures gout"}
    changed(client, "/dossiers/evidence", form)
    changed(client, f"{address}/claims/1/evidence/1", {"note": "Small.", "revision": "5"})
    assert "Small." in get(client, address).text
    changed(client, f"{address}/claims/1/evidence/1/delete", {"revision": "6"})
    changed(client, f"{address}/claims/1/delete", {"revision": "7"})
    kept = content(client, address)
    assert kept["claims"] == []
    assert [item["what"] for item in kept["history"]] == [
        "created the dossier",
        "added the claim “Coffee cures gout”",
        "changed the verdict on “Coffee cures gout” from unrated to mostly false",
        "changed the notes on “Coffee cures gout”",
        "changed where “Coffee cures gout” appeared",
        "renamed the dossier from “Week 12” to “Week 13”",
        "added evidence 1 to “Coffee cures gout”",
        "changed the note on evidence 1 of “Coffee cures gout”",
        "removed evidence 1 from “Coffee cures gout”",
        "removed the claim “Coffee cures gout”",
    ]
    assert changed(client, f"{address}/delete", {"revision": "8"}) == "/dossiers"
    get(client, address, status=404)


def test_of_two_tabs_the_second_is_told_and_keeps_what_it_typed(client):
    address = begun(client)
    old = revision(client, address)
    changed(client, f"{address}/claims/1", {"verdict": "mixed", "notes": "First tab.", "revision": old})
    sent = {"verdict": "false", "notes": "Second <tab>.", "revision": old}
    page = changed(client, f"{address}/claims/1", sent, 409)
    assert "The dossier was changed meanwhile" in page.text
    assert "Verdict: mixed" in page.text
    assert "Second <tab>." in page.text
    assert page.all("option", selected=None)
    assert page.value("revision") == str(int(old) + 1)
    changed(client, f"{address}/claims/1", sent | {"revision": page.value("revision")})
    assert "Verdict: false" in get(client, address).text
    for form in ("name", "claims", "claims/1/evidence/1", "claims/1/delete", "delete"):
        where = address if form == "name" else f"{address}/{form}"
        typed = {"name": "Typed", "claim": "Typed", "note": "Typed", "revision": old}
        told = changed(client, where, typed, 409)
        assert "The dossier was changed meanwhile" in told.text
    assert len(content(client, address)["claims"]) == 1


def test_notes_on_a_claim_that_the_other_tab_removed_are_shown_again(client):
    address = begun(client)
    old = revision(client, address)
    changed(client, f"{address}/claims/1/delete", {"revision": old})
    page = changed(client, f"{address}/claims/1", {"verdict": "true", "notes": "Long work.", "revision": old}, 409)
    assert "no longer there: Long work." in page.text


@pytest.mark.parametrize(
    ("where", "form", "status", "words"),
    [
        ("/claims/1", {"verdict": "rather so"}, 400, "'rather so' is not a verdict"),
        ("/claims/1", {"verdict": "true", "notes": "n" * 10_001}, 400, "at most 10,000 characters"),
        ("/claims/1", {"verdict": "true", "source": "javascript:alert(1)"}, 400, "begins with https://"),
        ("/claims/1", {"verdict": "true", "source": "https://[broken"}, 400, "begins with https://"),
        ("/claims/9", {"verdict": "true"}, 404, "no longer in the dossier"),
        ("/claims/1/evidence/9", {"note": "x"}, 404, "no longer in the dossier"),
        ("/claims", {"claim": "c" * 10_000}, 400, "at most 2,000 characters, and this has 10,000"),
        ("/claims", {"claim": " \n "}, 400, "a claim needs a text"),
        ("/claims", {"claim": CLAIM.upper()}, 409, "in the dossier already"),
        ("", {"name": ""}, 400, "a name has 1 to 200"),
        ("/claims", {"claim": "New", "revision": "1e9"}, 409, "changed meanwhile"),
    ],
)
def test_what_can_not_be_stored_says_why_and_stays_in_its_form(client, where, form, status, words):
    address = begun(client)
    before = content(client, address)
    page = changed(client, address + where, {"revision": "1", **form}, status)
    assert words.lower() in page.text.lower()
    for name in {"notes", "claim"} & form.keys():
        assert form[name].strip() in "".join(page.words)
    assert content(client, address) == before


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"claim": "c" * 10_000}, 400, "at most 2,000 characters"),
        ({"claim": ""}, 400, "a claim needs a text"),
        ({"stance": "agrees"}, 400, "must be one of supports, refutes, neither"),
        ({"stance": "supports", "probability": "nan"}, 400, "from 0 to 1"),
        ({"stance": "supports", "probability": "much"}, 400, "from 0 to 1"),
        ({"document": "none"}, 404, "no document"),
        ({"passage": "pm/2@7#0"}, 409, "has changed since"),
        ({"collection": "none"}, 400, "there is no collection"),
        ({"dossier": "0123456789abcdef"}, 404, "no kept item"),
        ({"dossier": "../.."}, 404, "no kept item"),
    ],
)
def test_sentences_that_can_not_be_added_say_why_and_the_claim_is_kept(client, changes, status, words):
    page = changed(client, "/dossiers/evidence", form_of(searched(client), "pm/2") | changes, status)
    assert words in page.text.lower()
    assert changes.get("claim", CLAIM) in "".join(page.words)
    assert page.value("passage") == changes.get("passage", "pm/2@1#0")
    assert "Nothing yet" in get(client, "/dossiers").text


def test_the_stance_that_the_page_showed_is_kept_beside_the_quote(client):
    form = form_of(searched(client), "pm/2") | {"stance": "supports", "probability": "0.9312", "dossier": ""}
    address = changed(client, "/dossiers/evidence", form).partition("#")[0]
    assert "Read by a model when it was added: supports the claim, 93%." in get(client, address).text
    assert "Read by a model" in get(client, f"{address}/print").text


@pytest.mark.parametrize(
    "text",
    [
        "يمنع الأسبرين السكتات الدماغية",
        "阿司匹林可以预防中风",
        "<script>alert('x')</script> & \"quotes\"",
        "\u202egnihton",
    ],
)
def test_any_script_is_stored_and_escaped(client, text):
    address = changed(client, "/dossiers", {"name": "Odd"})
    changed(client, f"{address}/claims", {"claim": text, "revision": "1"})
    changed(client, f"{address}/claims/1", {"verdict": "unproven", "notes": f"<b>{text}</b>", "revision": "2"})
    for where in (address, f"{address}/print"):
        answer = client.get(where)
        assert "<script>alert" not in answer.text
        assert "<b>" + text not in answer.text
        assert f"<b>{text}</b>" in "".join(Page(answer.text).words)
    assert content(client, address)["claims"][0]["text"] == text
    assert json.loads(exported(client, address, "json").text)["claims"][0]["text"] == text


def test_foreign_items_and_items_of_another_kind_are_not_found(client, token):
    ada, bob = token("ada", "public"), token("bob", "public")
    address = begun(client, headers=ada)
    for where in (address, f"{address}/print", f"{address}/export?format=ris", "/dossiers/nonsense"):
        assert client.get(where, headers=bob).status_code == 404
    for where in ("", "/claims", "/claims/1", "/claims/1/delete", "/claims/1/evidence/1", "/delete"):
        changed(client, address + where, {"revision": "1", "name": "x", "claim": "x"}, 404, headers=bob)
    form = form_of(searched(client, headers=bob), "pm/2") | {"dossier": address.rpartition("/")[2]}
    changed(client, "/dossiers/evidence", form, 404, headers=bob)
    saved = changed(client, "/saved/searches", {"search": "collection=abstracts&text=x", "name": "One"}, headers=ada)
    get(client, saved.replace("/saved/", "/dossiers/"), status=404, headers=ada)
    get(client, address.replace("/dossiers/", "/saved/"), status=404, headers=ada)
    assert address not in client.get("/saved", headers=ada).text


def test_a_reader_sees_a_shared_dossier_without_forms_and_without_hidden_evidence(client, token):
    ada = token("ada", "public", "embargo", "desk")
    bob, eve = token("bob", "public", "desk"), token("eve", "desk")
    address = begun(client, "statins mortality", "pm/1", headers=ada)
    secret = form_of(searched(client, "statins mortality", headers=ada), "secret/1")
    changed(client, "/dossiers/evidence", secret | {"dossier": address.rpartition("/")[2]}, headers=ada)
    changed(client, address, {"name": "Shared", "share": "desk", "revision": "2"}, headers=ada)
    page = get(client, address, headers=bob)
    assert "Statins lowered mortality" in page.text
    assert "Evidence 2 is from a document that you may not see" in page.text
    assert [attrs["action"] for attrs in page.all("form") if attrs["action"].startswith("/dossiers")] == []
    for headers, seen in ((ada, True), (bob, False), (eve, False)):
        texts = [client.get(where, headers=headers).text for where in (address, f"{address}/print", "/v1/kept")]
        texts += [exported(client, address, name, headers=headers).text for name in ("ris", "bibtex", "csv", "json")]
        texts.append(exported(client, address, "claimreview", headers=headers).text)
        assert any("embargoed" in text or "secret/1" in text for text in texts) is seen
    assert "Statins lowered" not in client.get(f"/v1/kept/{address.rpartition('/')[2]}", headers=eve).text
    page = changed(client, f"{address}/claims", {"claim": "Mine", "revision": "3"}, 403, headers=bob)
    assert "only its owner can change" in page.text.lower()
    identifier = address.rpartition("/")[2]
    offered = [attrs["value"] for attrs in searched(client, headers=bob).all("option")]
    assert identifier not in offered


def test_a_document_that_is_deleted_leaves_its_snapshot(client, store):
    address = begun(client)
    assert "no longer in the collection" not in get(client, address).text
    store.put([Deletion("pm/2")])
    page = get(client, address)
    assert "no longer in the collection" in page.text
    assert "Aspirin reduced stroke in adults." in page.text
    assert page.links("/document?") == []
    assert "no longer in the collection" in get(client, f"{address}/print").text
    assert "Aspirin for prevention" in exported(client, address, "ris").text


def test_a_document_that_its_reader_may_no_longer_see_leaves_its_snapshot(client, store, token):
    ada = token("ada", "public")
    address = begun(client, headers=ada)
    hidden = replace(store.latest(["pm/2"])["pm/2"].content, labels=frozenset({"embargo"}), title="Hidden since")
    store.put([hidden])
    page = get(client, address, headers=ada)
    assert "Aspirin for prevention of stroke no longer in the collection" in page.text
    assert "Hidden since" not in page.text


def test_a_collection_that_is_gone_leaves_its_snapshots(client, app):
    address = begun(client)
    medley = app.extensions["medley"].medley
    medley.kept.replace(
        Access(medley.kept.find(address.rpartition("/")[2]).owner, frozenset({"*"})),
        address.rpartition("/")[2],
        1,
        KeptDraft("dossier", "Moved", moved(content(client, address))),
    )
    assert "no longer in the collection" in get(client, address).text


def moved(kept):
    """The content with its evidence in a collection that does not exist."""
    kept["claims"][0]["evidence"][0]["collection"] = "old-abstracts"
    return kept


def test_a_full_dossier_says_so(client, app):
    address = changed(client, "/dossiers", {"name": "Full"})
    kept, identifier = app.extensions["medley"].medley.kept, address.rpartition("/")[2]
    claims = [{"number": at, "text": f"Claim {at}", "notes": "n" * 9_000, "evidence": []} for at in range(1, 8)]
    access = Access(kept.find(identifier).owner, frozenset({"*"}))
    kept.replace(access, identifier, 1, KeptDraft("dossier", "Full", {"claims": claims, "history": []}))
    assert "% full" in get(client, address).text
    page = changed(client, f"{address}/claims/1", {"verdict": "true", "notes": "n" * 9_999, "revision": "2"}, 409)
    assert "The dossier is full: it would have" in page.text


def test_the_list_has_pages(client, monkeypatch):
    monkeypatch.setattr("web.pages.dossiers.routes.ON_A_PAGE", 2)
    for number in range(3):
        changed(client, "/dossiers", {"name": f"Dossier {number}"})
    changed(client, "/dossiers", {"name": "Dossier 1"}, 409)
    (more,) = get(client, "/dossiers").links("/dossiers?after=")
    assert "Dossier 0" in get(client, more).text
    get(client, "/dossiers?after=nonsense", status=400)


def test_forms_need_their_token(client):
    address = begun(client)
    for where in ("/dossiers", "/dossiers/evidence", address, f"{address}/claims", f"{address}/delete"):
        assert client.post(where, data={"revision": "1"}).status_code == 403


def test_an_unknown_format_names_the_known_ones(client):
    answer = client.get(f"{begun(client)}/export?format=docx")
    assert answer.status_code == 400
    assert "known are ris, bibtex, csv, json, claimreview" in answer.text


def test_a_claim_review_says_how_many_claims_it_leaves_out(client):
    address = begun(client)
    answer = exported(client, address, "claimreview")
    assert (answer.json["@graph"], answer.headers["Medley-Claims-Left-Out"]) == ([], "1")
    assert answer.content_type == "application/ld+json; charset=utf-8"
    assert answer.headers["Content-Disposition"].endswith('-rated-claims.jsonld"')
    assert "ClaimReview without 1 unrated" in get(client, address).text


def test_a_study_that_was_retracted_since_is_marked(client, store):
    address = begun(client)
    current = store.latest(["pm/2"])["pm/2"].content
    store.put([replace(current, fields={**current.fields, "badges": ("retracted",)})])
    assert "Aspirin for prevention of stroke retracted" in get(client, address).text


def test_names_and_texts_stay_out_of_the_access_log(client, logged):
    address = begun(client, "aspirin unmentionable")
    changed(client, f"{address}/claims/1", {"verdict": "false", "notes": "unmentionable notes", "revision": "1"})
    lines = [line for line in logged() if line["action"] != "search"]
    assert "unmentionable" not in json.dumps(lines)
    assert [line["action"] for line in lines if line["action"] in ("document", "kept add", "kept replace")] == [
        "document",
        "kept add",
        "kept replace",
    ]


def test_an_addition_is_repeated_where_another_change_came_between(client, monkeypatch):
    address = begun(client, "statins mortality", "pm/1")
    form = form_of(searched(client, "statins mortality"), "pm/4") | {"dossier": address.rpartition("/")[2]}
    change, calls = DossierUseCases.change, []

    def raced(self, identifier, revision, edit):
        calls.append(revision)
        if len(calls) == 1:
            change(self, identifier, revision, lambda it, stamp: with_claim(it, "Another claim", stamp))
        return change(self, identifier, revision, edit)

    monkeypatch.setattr(DossierUseCases, "change", raced)
    changed(client, "/dossiers/evidence", form)
    assert calls == [1, 2]
    first, second = content(client, address)["claims"]
    assert (len(first["evidence"]), second["text"]) == (2, "Another claim")

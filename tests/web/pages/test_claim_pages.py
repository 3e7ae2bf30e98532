"""The pages of claims as HTML: what is pasted leads where it should, and nothing on them is a verdict."""

import io
import re

import pytest
import studies_home
from browsing import Page, get, send

from web.pages.claims import claim_search
from web.serving.limits import ARTICLE_BYTES

CLAIM = "Aspirin reduces the risk of stroke in adults"
CLAIM_URL = "/claim?collection=studies&text=Aspirin+reduces+the+risk+of+stroke+in+adults"
PAGE = f"""<html><head><script>alert("Bleach cures stroke in 9 of 10 adults.")</script></head><body><nav>Read more</nav>
<p>{CLAIM}, a <a href="https://doi.org/10.1000/xyz">study</a> found. Is it so? We believe it is.</p>
<p>Coffee cuts the risk of stroke by 20 percent. See <a href="https://pubmed.ncbi.nlm.nih.gov/1234567">this</a>
and <a href="https://news.example/more">that</a>.</p></body></html>"""


@pytest.fixture
def client(studies_client):
    return studies_client


def paste(client, text, **further):
    return send(client, "/claims", {"collection": "studies", "text": text, **further})


def test_claims_are_an_area_where_there_are_studies(client):
    page = get(client, "/claims")
    assert "Check a claim" in page.text
    assert page.all("a", href="/claims") == [{"href": "/claims", "aria-current": "true"}]
    assert get(client, "/").all("a", href="/claims")
    assert get(client, CLAIM_URL).all("a", href="/claims", **{"aria-current": "true"})


def test_a_headline_leads_to_its_page(client):
    answer = paste(client, f"  {CLAIM}\n")
    assert (answer.status_code, answer.headers["Location"]) == (303, CLAIM_URL)


def test_the_page_of_a_claim_has_a_column_for_each_stance(client):
    page = get(client, CLAIM_URL)
    counts = [int(number) for number in re.findall(r"(?:Supports|Refutes|Says neither): (\d)", page.text)]
    assert (len(counts), sum(counts)) == (3, 5)
    assert re.search(r"Of 5 abstracts read, (\d (supports?|refutes?|says? neither)(, )?)+", page.text)
    assert "Counts are no verdict" in page.text
    assert len(page.all("input", name="document", type="checkbox")) == 5
    assert "randomised trial" in page.text
    assert "n = 39,876" in page.text


@pytest.mark.parametrize("private", [False, True])
def test_where_time_was_short_one_more_step_reads_every_hit(tmp_path, monkeypatch, private):
    monkeypatch.setattr(claim_search, "CLAIM_DEADLINE_MS", 1)
    client = studies_home.client_of(studies_home.fill(tmp_path, private=private, deadline_ms=1))
    hurried = Page(paste(client, CLAIM).text) if private else get(client, CLAIM_URL)
    assert "or time was over" in hurried.text
    assert "Take the time to read them" in hurried.text
    if private:
        (button,) = [item for item in hurried.all("button", form="claim-again") if "deadline_ms=0" in item["value"]]
        whole = Page(send(client, button["formaction"], {"state": button["value"]}).text)
    else:
        (link,) = hurried.links(f"{CLAIM_URL}&deadline_ms=0")
        whole = get(client, link)
    assert re.search(r"Of 5 abstracts read", whole.text)
    assert "Take the time" not in whole.text


def test_what_was_read_whole_and_is_no_claim_is_not_offered_again(client):
    page = get(client, "/claim?collection=studies&text=aspirin&deadline_ms=0")
    assert "too short or too long for a claim." in page.text
    assert "time was over" not in page.text
    assert "Take the time" not in page.text


def test_a_retracted_study_carries_its_warning(client):
    page = get(client, CLAIM_URL)
    assert "This study was retracted: what it says does not count." in page.text
    assert page.all("span", **{"class": "badge warning"})


def test_from_a_headline_to_the_citation_of_a_document(client):
    page = get(client, paste(client, CLAIM).headers["Location"])
    link = next(item for item in page.links("/document?") if "id=pm%2F2&" in item)
    (ris,) = [item for item in get(client, link).links("/cite?") if "format=ris" in item]
    assert "TI  - Aspirin and stroke in women" in client.get(ris).text


def test_short_claims_are_read_and_names_are_not(client):
    assert "abstracts read" in get(client, "/claim?collection=studies&text=Aspirin+prevents+stroke").text
    page = get(client, "/claim?collection=studies&text=aspirin")
    assert "was not read" in page.text
    assert "says nothing of it" in page.text
    assert page.links("/document?")


def test_the_quotes_of_a_headline_are_no_operators():
    assert (
        claim_search.searched_text("“Miracle” drug -aspirin- cures: stroke:now")
        == "Miracle drug aspirin- cures: stroke now"
    )
    assert claim_search.searched_text("Does aspirin prevent strokes?") == "Does aspirin prevent strokes?"
    assert claim_search.searched_text("aspirin") == "aspirin"


def test_without_a_stance_model_the_page_says_so_and_lists_hits(client):
    page = get(client, CLAIM_URL.replace("studies", "abstracts"))
    assert "In this collection nothing reads what abstracts say of a claim" in page.text
    assert "Supports" not in page.text
    assert page.links("/document?collection=abstracts")


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("Does aspirin prevent stroke?", "This is a question"),
        ("I think aspirin prevents stroke", "what somebody thinks"),
        ("Aspirin cures everything, just kidding", "a joke"),
        ("Aspirin reduces stroke by 30", "“30” has no unit"),
        ("الأسبرين يقلل من خطر السكتة", "claim"),
        ("阿司匹林能预防中风", "claim"),
        ("aspirin reduces stroke " * 30, "more than 600 characters"),
    ],
)
def test_no_claim_is_refused_for_its_form(client, claim, words):
    page = get(client, "/claim", query_string={"collection": "studies", "text": claim})
    assert words in page.text


def test_two_claims_in_one_can_be_checked_apart(client):
    text = "Aspirin prevents stroke and causes bleeding"
    page = get(client, "/claim", query_string={"collection": "studies", "text": text})
    assert "two claims in one" in page.text
    assert page.links("/claim?collection=studies&text=Aspirin+causes+bleeding")
    (both,) = page.links("/claims/table")
    assert "2 claims" in get(client, both).text


def test_an_empty_or_endless_claim_is_an_error_on_its_page(client):
    assert "can't be looked up" in get(client, "/claim?collection=studies", 400).text
    answer = send(client, "/claim", {"collection": "studies", "text": "aspirin " * 2_000})
    assert (answer.status_code, "at most 10000 characters" in answer.text) == (400, True)


@pytest.mark.parametrize("path", ["/claims", "/claim", "/claims/table", "/claim/compare"])
def test_an_unknown_collection_is_a_mistake(client, path):
    answer = client.get(path, query_string={"collection": "nowhere", "text": "a", "claim": "a", "document": ["a", "b"]})
    assert (answer.status_code, "nowhere" in answer.text) == (400, True)


def test_an_article_proposes_its_claims_and_lists_what_it_points_to(client):
    page = Page(paste(client, PAGE).text)
    claims = [item["value"] for item in page.all("input", name="claim")]
    assert claims == [f"{CLAIM}, a study found.", "Coffee cuts the risk of stroke by 20 percent."]
    assert all("checked" in item for item in page.all("input", name="claim"))
    assert "An effect (reduces), a medical name (" in page.text
    assert not [item for item in page.all("input") if "Bleach" in item.get("value", "")]
    assert page.links("/search?collection=studies&text=10.1000%2Fxyz")
    assert page.links("/search?collection=studies&text=1234567")
    assert page.links("https://news.example/more")


def test_a_saved_page_can_be_sent_as_a_file(client):
    answer = paste(client, "", file=(io.BytesIO(PAGE.encode()), "page.html"))
    assert "Coffee cuts the risk of stroke by 20 percent." in answer.text


def test_an_article_of_five_megabytes_is_read_and_a_larger_one_refused(client):
    article = f"<p>{CLAIM}.</p><script>{'x' * (ARTICLE_BYTES - 100)}</script>"
    assert CLAIM in paste(client, article).text
    for larger in (ARTICLE_BYTES + 10, 2 * ARTICLE_BYTES):
        answer = paste(client, "a " * (larger // 2))
        assert answer.status_code == 413
        assert "an article can have 5,000,000 bytes at most" in answer.text.lower()


@pytest.mark.parametrize(
    "text", ["السكتة الدماغية. القهوة مفيدة جدا. " * 40, "咖啡能降低中风的风险。" * 40 + "\n" + "好" * 200]
)
def test_an_article_in_another_script_offers_its_sentences_unselected(client, text):
    page = Page(paste(client, text, kind="article").text)
    assert "No sentence was recognised as a claim" in page.text
    assert page.all("input", name="claim")
    assert not [item for item in page.all("input", name="claim") if "checked" in item]
    assert all(item["dir"] == "auto" for item in page.all("label") if item["for"].startswith("claim-"))


def test_nothing_and_too_many_headlines_are_refused_by_name(client):
    answer = paste(client, " \n ")
    assert (answer.status_code, "Paste a headline" in answer.text) == (400, True)
    answer = paste(client, "\n".join(f"Food {number} prevents stroke" for number in range(21)))
    assert answer.status_code == 400
    assert "These are 21 headlines, and one table has at most 20" in answer.text
    assert "Food 20 prevents stroke" in answer.text


def test_input_is_escaped(client):
    for answer in (paste(client, "x\"><script>alert(1)</script> reduces stroke"), paste(client, "&lt;b&gt; cures <p>a"),
                   client.get("/claim", query_string={"collection": "studies", "text": "<script>alert(1)</script>"})):  # fmt: skip
        assert "<script>alert" not in answer.text


def test_forms_of_other_sites_are_refused(client):
    for path in ("/claims", "/claim", "/claims/table", "/claim/compare"):
        assert client.post(path, data={"collection": "studies", "text": CLAIM}).status_code == 403


def test_two_studies_stand_side_by_side(client):
    address = (
        "/claim/compare?collection=studies&text=Aspirin+lowered+the+risk+of+stroke+in+women&document=pm/2&document=pm/4"
    )
    page = get(client, address)
    for words in ("cohort study", "meta-analysis", "39,876", "95,000", "Brain", "2018", "Of the claim"):
        assert words in page.text
    assert page.all("mark")
    assert page.links("/claim?collection=studies&text=Aspirin+lowered")
    assert "one document twice" in get(client, address.replace("pm/4", "pm/2")).text


@pytest.mark.parametrize("documents", [[], ["pm/1"], ["pm/1", "pm/2", "pm/4"]])
def test_only_two_can_be_compared(client, documents):
    answer = client.get("/claim/compare", query_string={"collection": "studies", "text": "a", "document": documents})
    assert (answer.status_code, "choose two to compare" in answer.text) == (400, True)


def test_a_study_that_does_not_exist_is_not_compared(client):
    get(client, "/claim/compare?collection=studies&text=stroke&document=pm/1&document=pm/99", 404)


def test_search_results_show_stances_and_lead_to_the_claim(client):
    page = get(client, f"/search?collection=studies&text={CLAIM}")
    assert "abstracts read," in page.text
    assert len([item for item in page.all("span") if item.get("class", "").startswith("badge stance stance-")]) == 5
    assert CLAIM_URL in page.links("/claim?")
    assert not get(client, f"/search?collection=abstracts&text={CLAIM}").links("/claim?")


def addresses(page):
    return [attrs[name] for _, attrs in page.elements for name in ("href", "action", "formaction") if attrs.get(name)]


def test_private_claims_stay_out_of_addresses(private_client):
    answer = paste(private_client, CLAIM)
    assert answer.status_code == 200
    page = Page(answer.text)
    assert [item for item in addresses(page) if "risk" in item] == [
        CLAIM_URL
    ]  # the link that is offered with a warning
    assert "Link to this claim" in page.text
    assert page.all("form", id="compare")[0]["method"] == "post"
    assert CLAIM not in answer.text.partition("</title>")[0]
    found = Page(send(private_client, "/search", {"collection": "studies", "text": CLAIM}).text)
    (button,) = list(found.all("button", form="claim-again"))
    assert "Supports: " in send(private_client, button["formaction"], {"state": button["value"]}).text
    chosen = {"collection": "studies", "text": CLAIM, "document": ["pm/1", "pm/2"]}
    assert "Two studies" in send(private_client, "/claim/compare", chosen).text

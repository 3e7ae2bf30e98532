"""The curve of a search's slots over a document's sentences: in the explanation of a hit, and on the page of the document."""

from __future__ import annotations

import re
from html import unescape

import pytest
from discourse_home import ARTICLES, NAME, fill, settings_in

from search.discourse.curve import CurvePoint, DiscourseCurve
from web import create_app
from web.pages.explanations import curve_view


@pytest.fixture(scope="module")
def portal(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("curves"))
    fill(settings)
    app = create_app(settings)
    app.testing = True
    return app.test_client()


SEARCH = f"/search?collection={NAME}&entity=gout&aspect=treatment"


def page(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return unescape(answer.get_data(as_text=True))


def link_to(text: str, document: str) -> str:
    return next(link for link in re.findall(r'href="(/document\?[^"#]*)', text) if f"id={document}&" in f"{link}&")


def test_the_explanation_of_a_hit_draws_it(portal):
    text = page(portal, SEARCH)
    assert text.count('<figure class="curve">') == len(ARTICLES)
    assert "Entity and aspect (discourse)" in text
    assert "4 sentences in 3 passages" in text
    assert re.search(r"“gout”: highest in sentence \d \(-?\d\.\d\d\): “", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert '<figure class="curve">' not in page(portal, f"/search?collection={NAME}&text=joint")


def test_a_document_that_is_opened_from_a_search_has_it(portal):
    text = page(portal, link_to(page(portal, SEARCH), "gout"))
    (figure,) = re.findall(r'<figure class="curve">.*?</figure>', text, re.DOTALL)
    assert figure.count("<polyline") == 3
    assert 'role="img" aria-labelledby="curve-title curve-words"' in figure
    assert re.search(r'<rect class="own"', figure)
    for line in re.findall(r'points="([^"]*)"', figure):
        assert [float(pair.split(",")[0]) for pair in line.split()] == [75, 225, 375, 525]
        assert all(0 <= float(pair.split(",")[1]) <= 100 for pair in line.split())


@pytest.mark.parametrize(
    "back",
    ["", "back=collection%3Darticles", "back=text%3Djoint", "back=entity%3Dgout%26size%3Dmany", "back=collection%3Dnotes%26entity%3Dgout", "back=%26%3D%26"],
)  # fmt: skip
def test_other_addresses_show_the_document_without_it(portal, back):
    assert '<figure class="curve">' not in page(portal, f"/document?collection={NAME}&id=gout&{back}")


@pytest.mark.parametrize("passage", ["", "gout@1%23x", "gout@9%230", "other@1%230", "%23"])
def test_a_passage_that_the_document_does_not_have_is_not_marked(portal, passage):
    text = page(portal, f"/document?collection={NAME}&id=gout&passage={passage}&back=entity%3Dgout")
    assert '<figure class="curve">' in text
    assert '<rect class="own"' not in text


def test_the_answer_of_the_api_has_its_numbers(portal):
    body = {"collection": NAME, "entity": "gout", "explain": True}
    answer = portal.post("/v1/search", json=body).get_json()
    explained = answer["hits"][0]["explain"]
    assert explained["discourse"]["entity"] == "gout"
    number = int(answer["hits"][0]["passage"].rpartition("#")[2])
    own = [point["whole"] for point in explained["discourse"]["points"] if point["passage"] == number]
    assert sum(own) / len(own) == pytest.approx(explained["legs"]["discourse"]["score"], abs=1e-3)
    assert {point["aspect"] for point in explained["discourse"]["points"]} == {None}


def test_a_picture_of_one_sentence_and_of_none():
    one = DiscourseCurve("gout", "", (CurvePoint(0, -0.5, None, -0.25, "Gout."),), 7)
    view = curve_view(one, "gout@1#0")
    assert [(line.kind, line.points) for line in view.lines] == [
        ("whole", "0,83.3 600,83.3"),
        ("entity", "0,100.0 600,100.0"),
    ]
    assert view.bands == [(0.0, 600.0, True)]
    assert "1 sentence in 1 passage; 7 further ones are not read" in view.words
    assert curve_view(DiscourseCurve("gout", "", ()), "") is None
    assert curve_view(None) is None

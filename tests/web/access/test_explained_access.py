"""An explanation tells a caller nothing about the words of documents that they may not see."""

import re

import pytest
from portal_home import abstract, settings_of

from search.bootstrap import Medley
from web.cli.commands.search import _text
from web.cli.common import open_use_cases
from web.cli.indexing import fill_quietly
from web.forms import search_form, to_query
from web.search_answers import SearchAnswer

SEARCH = {"collection": "abstracts", "text": "metformin", "size": 50, "explain": True}


def explained(client, headers):
    """The explanation of the one visible document about metformin."""
    hits = client.post("/v1/search", json=SEARCH, headers=headers).json["hits"]
    return next(hit["explain"] for hit in hits if hit["document"] == "pm/3")


def hide_more(app):
    """Add documents with the word that only holders of another label may see."""
    medley = app.extensions["medley"].medley
    hidden = [abstract(f"secret/{n}", "Metformin", "embargo", 2021, "Heart", "Metformin.") for n in range(2, 40)]
    medley.collections.store("abstracts").put(hidden)
    fill_quietly(medley, "abstracts")


def test_an_explanation_is_the_same_whatever_hidden_documents_say(app, client, token):
    headers = token("ada", "public")
    before = explained(client, headers)
    hide_more(app)
    assert explained(client, headers) == before
    assert before["legs"]["bm25"] == {
        "rank": 1,
        "score": None,
        "normalised": 1.0,
        "weight": before["legs"]["bm25"]["weight"],
        "contribution": before["legs"]["bm25"]["weight"],
    }
    assert before["legs"]["dense"]["score"] > 0
    assert before["score"] == pytest.approx(sum(before["final"].values()))


@pytest.mark.parametrize("rights", [{}, {"writes": ["*"]}, {"operator": True}])
def test_no_right_but_every_label_shows_the_score_of_the_words(client, token, rights):
    assert explained(client, token("ada", "public", "embargo", **rights))["legs"]["bm25"]["score"] is None
    assert explained(client, token("root", "*"))["legs"]["bm25"]["score"] > 0


def test_the_local_user_sees_the_score_of_the_words(app, client):
    before = explained(client, {})["legs"]["bm25"]["score"]
    hide_more(app)
    assert 0 < explained(client, {})["legs"]["bm25"]["score"] < before


def test_the_page_leaves_the_cell_empty(client, token):
    def cells(headers):
        page = client.get("/search?collection=abstracts&text=metformin", headers=headers).text
        return re.findall("<td>(.*?)</td>", page.partition("Words (BM25)")[2])[:2]

    assert cells(token("ada", "public")) == ["1", ""]
    rank, score = cells(token("root", "*"))
    assert (rank, float(score) > 0) == ("1", True)


@pytest.mark.parametrize(("labels", "known"), [(["public"], False), ([], True)])
def test_the_command_line_with_labels_is_told_as_little(home, labels, known):
    medley = Medley.open(settings_of(home))
    use_cases = open_use_cases(medley, labels=labels)
    query = to_query(search_form(SEARCH), use_cases.collections.get("abstracts"), use_cases.caller.access)
    answer = SearchAnswer.of(use_cases.search(query), use_cases.collections.get(query.collection))
    leg = next(hit.explain.legs["bm25"] for hit in answer.hits if hit.document == "pm/3")
    assert (leg.score is not None) == known
    assert "(bm25, rank 1)" in _text(answer)

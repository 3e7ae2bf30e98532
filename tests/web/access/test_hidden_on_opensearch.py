"""Hidden collections and explanations on OpenSearch: the portal answers as it does with the embedded engine."""

import secrets
from dataclasses import replace

import pytest
from doors import ABSENT, DOORS, HIDDEN, asked, listed, tabs
from portal_home import fill, settings_of

from web import create_app
from web.access import tokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def portal(node, tmp_path_factory):
    """(client, home) of a portal over both collections on a cluster."""
    home = tmp_path_factory.mktemp("cluster")
    settings = replace(settings_of(home), opensearch=node.url, opensearch_prefix=f"t{secrets.token_hex(5)}")
    app = create_app(settings)
    fill(home, settings)
    yield app.test_client(), home
    cluster = app.extensions["medley"].medley.engine.cluster
    cluster.write("DELETE", f"/{cluster.prefix}.*")
    cluster.close()


def bearer(home, *labels, **rights):
    return {"Authorization": f"Bearer {tokens.add(home, 'ada', labels, **rights)}"}


@pytest.mark.parametrize("door", DOORS)
def test_a_hidden_collection_on_a_cluster_answers_like_an_absent_one(portal, door):
    client, home = portal
    headers = bearer(home, "public")
    assert asked(client, headers, door, HIDDEN) == asked(client, headers, door, ABSENT)


@pytest.mark.parametrize(
    ("labels", "rights", "seen"),
    [
        (["public"], {}, ["abstracts"]),
        (["ward-8"], {}, ["notes"]),
        (["nowhere"], {}, []),
        (["nowhere"], {"writes": ["notes"]}, ["notes"]),
        (["nowhere"], {"operator": True}, ["abstracts", "notes"]),
        (["*"], {}, ["abstracts", "notes"]),
    ],
)
def test_who_sees_which_collections_on_a_cluster(portal, labels, rights, seen):
    client, home = portal
    headers = bearer(home, *labels, **rights)
    assert listed(client, headers) == tabs(client, headers) == seen


def test_the_score_of_the_words_is_left_out_on_a_cluster(portal):
    client, home = portal
    search = {"collection": "abstracts", "text": "metformin", "explain": True}

    def score(*labels):
        hits = client.post("/v1/search", json=search, headers=bearer(home, *labels)).json["hits"]
        return next(hit["explain"]["legs"]["bm25"]["score"] for hit in hits if hit["document"] == "pm/3")

    assert score("public") is None
    assert score("*") > 0

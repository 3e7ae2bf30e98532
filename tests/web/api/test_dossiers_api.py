"""Dossiers over the API of kept items: whole bodies, refused content, and what readers get."""

import pytest

CONTENT = {
    "claims": [
        {
            "number": 1,
            "text": "Aspirin prevents strokes",
            "verdict": "mixed",
            "evidence": [
                {
                    "number": 1,
                    "collection": "abstracts",
                    "document": "pm/2",
                    "quote": "Aspirin reduced stroke in adults.",
                    "labels": ["public"],
                },
                {"number": 2, "collection": "abstracts", "document": "x", "quote": "Y.", "labels": ["embargo"]},
            ],
        }
    ],
    "history": [],
}
DOSSIER = {"kind": "dossier", "name": "Week 12", "content": CONTENT}


def test_a_dossier_is_kept_read_and_replaced(client, token):
    ann, bob = token("ann", "public", "desk"), token("bob", "public", "desk")
    answer = client.post("/v1/kept", json=DOSSIER | {"shared_with": ["desk"]}, headers=ann)
    made = answer.json
    assert (answer.status_code, made) == (
        201,
        {
            "id": made["id"],
            **DOSSIER,
            "collection": "",
            "owner": "ann",
            "own": True,
            "shared_with": ["desk"],
            "revision": 1,
            "created": made["created"],
            "changed": made["created"],
        },
    )
    address = f"/v1/kept/{made['id']}"
    assert client.get(address, headers=ann).json == made
    (claim,) = CONTENT["claims"]
    shown = claim | {"evidence": [claim["evidence"][0], {"number": 2, "withheld": True}]}
    theirs = made | {"own": False, "content": {"claims": [shown], "history": []}}
    assert client.get(address, headers=bob).json == theirs
    assert client.get("/v1/kept?kind=dossier", headers=bob).json == {"items": [theirs], "next": None}
    changed = client.put(address, json=DOSSIER | {"content": {}, "revision": 1}, headers=ann)
    assert (changed.status_code, changed.json["content"], changed.json["revision"]) == (200, {}, 2)
    assert client.get(f"/dossiers/{made['id']}", headers=ann).status_code == 200


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"claims": [{"number": 1, "text": "x", "verdict": "pants on fire"}]}, "content.claims.0.verdict"),
        ({"claims": [{"number": 1, "text": "x" * 10_000}]}, "content.claims.0.text"),
        ({"claims": [{"text": "x"}]}, "content.claims.0.number"),
        ({"terms": ["warfarin"]}, "content.terms"),
        ({"claims": [{"number": n, "text": "x", "notes": "n" * 9_000} for n in range(1, 9)]}, "content"),
    ],
)
def test_content_that_is_not_a_dossier_is_refused(client, content, field):
    made = client.post("/v1/kept", json=DOSSIER).json
    posted = client.post("/v1/kept", json=DOSSIER | {"name": "Other", "content": content})
    put = client.put(f"/v1/kept/{made['id']}", json=DOSSIER | {"content": content, "revision": 1})
    for answer in (posted, put):
        assert (answer.status_code, answer.json["error"]["field"]) == (400, field)
    assert client.get(f"/v1/kept/{made['id']}").json == made

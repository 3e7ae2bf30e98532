"""`medley plugin backfill` on a real node: what is copied, what is not, and what a second copy does."""

from __future__ import annotations

import pytest
import urllib3
from plugin_world import NAME, TEXTS, World

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]


def test_documents_that_are_there_are_copied_once_and_read(world: World) -> None:
    for name, (title, text) in TEXTS.items():
        world.put("old", name, {"title": title, "text": text})
    assert "once the plug-in is installed" in world.refused("backfill", "old", f"{NAME}-new")
    world.plugin("install", "--trust")
    world.put("old", "empty", {"year": 1999})
    ran = world.plugin("backfill", "old", f"{NAME}-new", code=1)
    reasons = ran.pop("reasons")
    assert ran == {"total": 7, "copied": 6, "present": 0, "failed": 1}
    assert "the document has no text" in reasons["empty"]
    read = world.tokens_read()
    assert read
    again = world.plugin("backfill", "old", f"{NAME}-new", code=1)
    assert (again["copied"], again["present"], again["failed"]) == (0, 6, 1)
    assert world.tokens_read() == read  # the model server reads none of them again
    assert world.search("Aspirin prevents heart attacks", f"{NAME}-new")[0]["_id"] == "1"
    assert "name one like medley-abstracts-*" in world.refused("backfill", "old", "elsewhere")
    assert "no such index" in world.refused("backfill", "missing", f"{NAME}-new")
    removed = world.plugin("remove")["changes"]
    assert {"what": "setting of", "name": f"{NAME}-new", "action": "removed"} in removed
    world.put(f"{NAME}-new", "later", {"text": "Indexed without Medley."})
    assert world.there("/elsewhere") == {}
    for index in ("old", f"{NAME}-new"):
        world.send("DELETE", f"/{index}")


def test_documents_of_one_id_are_told_apart_by_their_routing(world: World) -> None:
    world.plugin("install", "--trust")
    shards = {"settings": {"index.number_of_shards": 5}}
    for index in ("old", f"{NAME}-new"):
        world.send("PUT", f"/{index}", shards)
    places = list("abcdefgh")
    for place in places:  # on a shard with another of this id, it takes its place
        body = {"text": f"Gout of {place}."}
        urllib3.request("PUT", f"{world.node}/old/_doc/1?refresh=true&routing={place}", json=body)
    total = world.send("GET", "/old/_count")["count"]
    assert 1 < total < len(places)
    ran = world.plugin("backfill", "old", f"{NAME}-new")
    assert (ran["total"], ran["copied"], ran["present"]) == (total, total, 0)
    again = world.plugin("backfill", "old", f"{NAME}-new")
    assert (again["copied"], again["present"]) == (0, total)
    world.plugin("remove")
    for index in ("old", f"{NAME}-new"):
        world.send("DELETE", f"/{index}")

"""Installations with small collections of notes, for the tests of deleting and renaming them."""

from __future__ import annotations

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.query import Query
from web.cli.indexing import fill_quietly
from workers.delivery import Delivery

EVERYBODY = Access("tester", frozenset({"*"}))
WEIGHTS = "[fusion]\nweights = { bm25 = 0.25, dense = 0.75 }\n"


def note(name: str, text: str = "heart failure") -> Document:
    return Document(name, "Note", (Section("PLAN", text),), frozenset({"clinical"}), {}, 3)


def feed(medley: Medley, name: str, *documents: Document) -> str:
    """Create a collection of notes with these documents; the id of the job."""
    medley.collections.create(name, "notes")
    delivery = Delivery(medley.collections.store(name), name)
    delivery.accept(documents)
    delivery.finish()
    return delivery.job.id


def filled(medley: Medley, name: str = "ward") -> Medley:
    feed(medley, name, note("a"), note("b", "kidney stones"))
    fill_quietly(medley, name)
    return medley


def found(medley: Medley, name: str, text: str = "heart") -> list[str]:
    return [hit.document for hit in medley.search(Query(name, EVERYBODY, text)).hits]


def remains(medley: Medley) -> list[str]:
    """What the installation still has under the names of collections: folders, indexes, records."""
    if not medley.settings.opensearch:
        return [path.name for path in (medley.settings.home / "collections").glob("*") if path.name[0] != "."]
    cluster = medley.engine.cluster
    names = [
        item["index"] for item in cluster.read("GET", f"/_cat/indices/{cluster.prefix}.*", None, {"format": "json"})
    ]
    rows = cluster.read("POST", f"/{cluster.prefix}.admin/_search", {"size": 100})["hits"]["hits"]
    held = {key for row in rows for key in row["_source"]} - {"_removed"}
    return sorted([name for name in names if not name.endswith(".admin")] + sorted(held))

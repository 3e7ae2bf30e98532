"""Every door of the portal that takes the name of a collection, and what it answers about one."""

import re

HIDDEN, ABSENT = "notes", "letters"  # for a caller with the label "public", who sees the abstracts
FEED = {"data": b'{"id": "x", "text": "Fever."}\n', "headers": {"Content-Type": "application/x-ndjson"}}
DOORS = {
    "search": ("POST", "/v1/search", {"json": {"collection": "NAME", "text": "pneumonia"}}),
    "search with an unknown field": (
        "POST",
        "/v1/search",
        {"json": {"collection": "NAME", "text": "a", "filters": {"ward": "7"}}},
    ),
    "search by address": ("GET", "/v1/search?collection=NAME&text=pneumonia", {}),
    "search for citations": ("GET", "/v1/search?collection=NAME&text=pneumonia&format=csv", {}),
    "search of nothing": ("GET", "/v1/search?collection=NAME", {}),
    "search with a cursor": ("GET", "/v1/search?collection=NAME&text=pneumonia&cursor=abc", {}),
    "completion": ("POST", "/v1/complete", {"json": {"collection": "NAME", "text": "pneumonia"}}),
    "completion by address": ("GET", "/v1/complete?collection=NAME&text=pneumonia", {}),
    "completion of an unknown slot": ("GET", "/v1/complete?collection=NAME&text=pneumonia&slot=ward", {}),
    "completion form": ("POST", "/complete", {"data": {"collection": "NAME", "text": "pneumonia"}}),
    "batch": (
        "POST",
        "/v1/search/batch",
        {"json": {"searches": [{"collection": "abstracts", "text": "a"}, {"collection": "NAME", "text": "a"}]}},
    ),
    "document": ("GET", "/v1/documents/p1/n1?collection=NAME", {}),
    "citation": ("GET", "/v1/documents/p1/n1?collection=NAME&format=ris", {}),
    "feed": ("POST", "/v1/documents?collection=NAME", FEED),
    "feed of another type": ("POST", "/v1/documents?collection=NAME", {"json": {}}),
    "deletion": ("DELETE", "/v1/documents/p1/n1?collection=NAME", {}),
    "deletion of an absent document": ("DELETE", "/v1/documents/p9/n9?collection=NAME", {}),
    "job": ("GET", "/v1/jobs/NAME.0123456789abcdef", {}),
    "item to keep": (
        "POST",
        "/v1/kept",
        {"json": {"kind": "bundle", "name": "a", "content": {}, "collection": "NAME"}},
    ),
    "start page": ("GET", "/?collection=NAME", {}),
    "search page": ("GET", "/search?collection=NAME&text=pneumonia", {}),
    "search form": ("POST", "/search", {"data": {"collection": "NAME", "text": "pneumonia " * 500}}),
    "document page": ("GET", "/document?collection=NAME&id=p1/n1", {}),
    "patient page": ("GET", "/patient?collection=NAME&document=p1/n1", {}),
    "patient form": ("POST", "/patient", {"data": {"collection": "NAME", "patient": "p1"}}),
    "search by a client of OpenSearch": ("POST", "/opensearch/NAME/_search", {"json": {"size": 1}}),
    "such a search that is not supported": ("POST", "/opensearch/NAME/_search", {"json": {"query": {"fuzzy": {}}}}),
    "such a search with an unknown field": (
        "POST",
        "/opensearch/NAME/_search",
        {"json": {"query": {"term": {"ward": "7"}}}},
    ),
    "count": ("GET", "/opensearch/NAME/_count", {}),
    "index": ("GET", "/opensearch/NAME", {}),
    "mapping": ("GET", "/opensearch/NAME/_mapping", {}),
    "document of an index": ("GET", "/opensearch/NAME/_doc/p1/n1", {}),
    "citation page": ("GET", "/cite?collection=NAME&id=p1/n1&format=bibtex", {}),
}


def named(value, name):
    if isinstance(value, dict):
        return {key: named(item, name) for key, item in value.items()}
    if isinstance(value, list):
        return [named(item, name) for item in value]
    return value.replace("NAME", name) if isinstance(value, str) else value


def asked(client, headers, door, name):
    """(status, headers, text) of the answer about collection `name`, in which the name is replaced."""
    method, path, given = DOORS[door]
    sent = named(given, name)
    sent["headers"] = sent.get("headers", {}) | headers
    if door in ("search form", "completion form", "patient form"):
        page = client.get("/", headers=headers).text
        sent["data"]["csrf"] = page.split('name="csrf" value="')[1].split('"')[0]
    answer = client.open(named(path, name), method=method, **sent)
    kept = {key: value for key, value in answer.headers if key not in ("X-Request-ID", "Content-Length", "Set-Cookie")}
    text = re.sub(r'name="csrf" value="[^"]*"|request <code>[^<]*', "", answer.text)
    return answer.status_code, kept, text.replace(answer.headers["X-Request-ID"], "").replace(name, "NAME")


def listed(client, headers):
    return [item["name"] for item in client.get("/v1/collections", headers=headers).json["collections"]]


def tabs(client, headers):
    page = client.get("/", headers=headers).text
    return re.findall(r"collection=(\w+)", page.partition('aria-label="Collections"')[2].partition("</nav>")[0])

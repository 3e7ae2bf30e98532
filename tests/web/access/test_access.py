"""Who can see what: nobody learns of a forbidden document through any door, and every access is logged."""

import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.settings import Settings
from web import create_app, forms
from web.access import tokens
from web.access.auth import check_bind
from web.cli.common import open_use_cases
from web.cli.indexing import fill_quietly

OWN = {"ward-7": {"p1/n1", "p1/n2"}, "ward-8": {"p2/n1"}}


def search(client, headers, **body):
    return client.post(
        "/v1/search", json={"collection": "notes", "text": "pneumonia effusion", **body}, headers=headers
    )


def seen(body):
    return {name for hit in body["hits"] for name in (hit["document"], *hit["others"])}


@pytest.mark.parametrize("label", OWN)
def test_search_shows_only_documents_of_the_caller(client, token, label):
    body = search(client, token("ada", label), facets=["type", "patient"]).json
    assert seen(body) == OWN[label]
    assert body["total"]["value"] == len(OWN[label])
    assert {item["value"] for item in body["facets"]["patient"]} == {name[:2] for name in OWN[label]}
    assert sum(item["count"] for item in body["facets"]["type"]) == len(OWN[label])


def test_a_writer_without_visible_documents_finds_nothing(client, token):
    body = search(client, token("eve", "nowhere", writes=["notes"])).json
    assert (body["hits"], body["total"]["value"]) == ([], 0)
    assert all(counts == [] for counts in body["facets"].values())


@pytest.mark.parametrize("form", ["json", "ris", "bibtex", "csv"])
def test_a_forbidden_document_looks_like_an_unknown_one(client, token, form):
    headers = token("ada", "ward-7")
    answers = [
        client.get(f"/v1/documents/{name}?collection=notes&format={form}", headers=headers)
        for name in ("p2/n1", "p9/n9")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    forbidden, unknown = (
        answer.json["error"]["message"].replace(name, "X")
        for answer, name in zip(answers, ("p2/n1", "p9/n9"), strict=True)
    )
    assert forbidden == unknown
    assert client.get(f"/v1/documents/p1/n1?collection=notes&format={form}", headers=headers).status_code == 200


def test_the_cursor_of_another_caller_is_refused(client, token):
    cursor = search(client, token("ada", "ward-7", "ward-8"), size=1).json["cursor"]
    answer = search(client, token("eve", "ward-8"), size=1, cursor=cursor)
    assert (answer.status_code, answer.json["error"]["code"], answer.json["error"]["field"]) == (
        403,
        "forbidden",
        "cursor",
    )


LABELS = ("red", "green", "blue")
label_sets = st.frozensets(st.sampled_from(LABELS))


@given(documents=st.lists(label_sets, min_size=1, max_size=8), own=st.frozensets(st.sampled_from(LABELS), min_size=1))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_only_documents_with_a_shared_label_are_shown(tmp_path_factory, documents, own):
    home = tmp_path_factory.mktemp("labels")
    medley = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))
    medley.collections.create("abstracts")
    texts = [
        Document(f"d{number}", f"Title {number}", (Section("", "fever"),), labels)
        for number, labels in enumerate(documents)
    ]
    medley.collections.store("abstracts").put(texts)
    fill_quietly(medley, "abstracts")
    headers = {"Authorization": f"Bearer {tokens.add(home, 'ada', own)}"}
    client = create_app(medley).test_client()
    answer = client.post("/v1/search", json={"collection": "abstracts", "text": "fever", "size": 50}, headers=headers)
    mine = {f"d{number}" for number, labels in enumerate(documents) if labels & own}
    assert answer.status_code == (200 if mine else 400)  # 400: the collection is hidden
    if mine:
        assert seen(answer.json) == mine
        assert answer.json["total"] == {"value": len(mine), "relation": "exact"}
    for number in range(len(documents)):
        status = client.get(f"/v1/documents/d{number}?collection=abstracts", headers=headers).status_code
        assert status == (200 if f"d{number}" in mine else 404 if mine else 400)


def test_without_a_token_nothing_is_answered(client, token):
    token("ada", "ward-7")
    for path in (
        "/v1/search?collection=notes&text=a",
        "/v1/documents/p1/n1?collection=notes",
        "/v1/collections",
        "/metrics",
    ):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="medley"'
        assert answer.json["error"]["code"] == "unauthorized"
    assert (
        client.get("/healthz").status_code
        == client.get("/readyz").status_code
        == client.get("/openapi.json").status_code
        == 200
    )


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer medley_abc_def", "Basic YTpi", "Bearer ", "medley", "Bearer medley_\xff_x"]
)
def test_a_wrong_token_is_refused(client, token, header):
    token("ada", "ward-7")
    answer = client.get("/v1/collections", headers={"Authorization": header})
    assert (answer.status_code, answer.json["error"]["code"]) == (401, "unauthorized")


def test_a_wrong_secret_is_refused_also_where_no_token_is_needed(client):
    assert client.get("/v1/collections", headers={"Authorization": "Bearer medley_abc_def"}).status_code == 401


def test_a_right_id_with_a_wrong_secret_is_refused(client, token):
    right = token("ada", "ward-7")["Authorization"]
    assert client.get("/v1/collections", headers={"Authorization": right}).status_code == 200
    assert client.get("/v1/collections", headers={"Authorization": right[:-2] + "xx"}).status_code == 401


def test_a_revoked_token_is_refused_at_once_and_the_door_stays_shut(client, home, token):
    headers = token("ada", "ward-7")
    assert client.get("/v1/collections", headers=headers).status_code == 200
    tokens.revoke(home, headers["Authorization"].split("_")[1])
    assert client.get("/v1/collections", headers=headers).status_code == 401
    assert client.get("/v1/collections").status_code == 401


@pytest.mark.parametrize(
    "stranger",
    [
        {"environ_base": {"REMOTE_ADDR": "192.0.2.7"}},
        {"headers": {"Host": "evil.example"}},
        {"headers": {"Host": "evil.example:8080"}},
        {"headers": {"Host": "127.0.0.1.evil.example"}},
        {"headers": {"X-Forwarded-For": "192.0.2.7"}},
        {"headers": {"Forwarded": "for=192.0.2.7"}},
        {"headers": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}},
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/search?collection=notes&text=a", "/", "/document?collection=notes&id=p1/n1", "/metrics"]
)
def test_without_tokens_strangers_are_refused(client, stranger, path):
    assert client.get(path, **stranger).status_code == 403


def test_another_site_may_link_here(client):
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1"])
def test_without_tokens_this_machine_is_answered(client, host):
    assert client.get("/v1/collections", headers={"Host": host}).status_code == 200


def test_with_tokens_any_name_will_do(client, token):
    headers = token("ada", "ward-7") | {"Host": "portal.example", "X-Forwarded-For": "192.0.2.7"}
    assert client.get("/v1/collections", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "open_to_others"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("10.0.0.3", True),
        ("portal.example", True),
    ],
)
def test_other_addresses_need_a_token_to_be_served(tmp_path, host, open_to_others):
    if open_to_others:
        with pytest.raises(InvalidInput, match="no token protects it"):
            check_bind(tmp_path, host)
    tokens.add(tmp_path, "ada", ["*"]) if open_to_others else None
    check_bind(tmp_path, host)


# The access log


def test_a_search_is_logged(client, token, logged):
    headers = token("ada", "ward-7")
    search(client, headers | {"X-Request-ID": "r-1"}, filters={"type": "Radiology"}, without=["effusion"])
    (line,) = logged()
    assert line.pop("time")
    assert line == {
        "door": "http",
        "user": "ada",
        "token": headers["Authorization"].split("_")[1],
        "address": "127.0.0.1",
        "request": "r-1",
        "action": "search",
        "collection": "notes",
        "asked": {"text": "pneumonia effusion", "without": ["effusion"], "filters": {"type": ["Radiology"]}},
        "ids": ["p1/n1"],
        "status": 200,
    }


def test_opened_and_refused_documents_are_logged(client, token, logged, home):
    headers = token("ada", "ward-7")
    client.get("/v1/documents/p1/n1?collection=notes", headers=headers)
    client.get("/v1/documents/p2/n1?collection=notes&format=ris", headers=headers)
    client.get("/cite?collection=notes&id=p1/n2&format=csv", headers=headers)
    client.get("/document?collection=notes&id=p1/n2", headers=headers)
    assert [(line["action"], line["asked"]["id"], line["ids"], line["status"]) for line in logged()] == [
        ("document", "p1/n1", ["p1/n1"], 200),
        ("cite", "p2/n1", [], 404),
        ("cite", "p1/n2", ["p1/n2"], 200),
        ("document", "p1/n2", ["p1/n2"], 200),
    ]
    assert stat.S_IMODE((home / "access.log").stat().st_mode) == 0o600


def test_each_search_of_a_batch_is_logged(client, logged):
    searches = [{"collection": "notes", "text": "effusion"}, {"collection": "abstracts", "text": "aspirin"}]
    client.post("/v1/search/batch", json={"searches": searches})
    assert [(line["user"], line["token"], line["collection"]) for line in logged()] == [
        ("local", None, "notes"),
        ("local", None, "abstracts"),
    ]


def test_what_cannot_be_logged_is_not_answered(client, home):
    (home / "access.log").mkdir()
    for path in (
        "/v1/search?collection=notes&text=pneumonia",
        "/v1/documents/p1/n1?collection=notes",
        "/v1/documents/none?collection=notes",
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.json["error"]["code"]) == (503, "unavailable")
        assert answer.json["error"]["message"].startswith("the access log cannot be written")
    page = client.get("/search?collection=notes&text=pneumonia")
    assert page.status_code == 503
    assert "radiograph" not in page.text


def test_a_failing_search_is_logged(client, logged, home):
    answer = client.post("/v1/search", json={"collection": "notes", "text": "a", "cursor": "forged"})
    assert answer.status_code == 400
    assert [(line["status"], line["ids"]) for line in logged()] == [(400, [])]


def test_a_request_id_is_used_only_when_plain(client):
    assert client.get("/healthz", headers={"X-Request-ID": "abc-1.2_3"}).headers["X-Request-ID"] == "abc-1.2_3"
    assert client.get("/healthz", headers={"X-Request-ID": "a b"}).headers["X-Request-ID"] != "a b"


def test_the_command_line_logs_like_the_portal(client, app, logged):
    search(client, {}, text="pneumonia")
    medley = app.extensions["medley"].medley
    use_cases = open_use_cases(medley, labels=["ward-7"])
    form = forms.search_form({"collection": "notes", "text": "pneumonia"})
    use_cases.search(forms.to_query(form, medley.collections.get("notes"), use_cases.caller.access))
    web_line, command_line = logged()
    assert list(web_line) == list(command_line)
    assert (web_line["door"], command_line["door"]) == ("http", "command line")
    assert web_line["asked"] == command_line["asked"]
    assert (sorted(command_line["ids"]), command_line["status"]) == (["p1/n1", "p1/n2"], 200)

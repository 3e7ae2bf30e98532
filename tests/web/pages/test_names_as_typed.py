"""What else was searched: chips that are taken back by a click, and put back by another, and the same over HTTP and in a shell."""

from urllib.parse import parse_qs, urlsplit

from browsing import get
from click.testing import CliRunner

from web.cli.main import cli

TEXT = "prevention of a heart attack"


def follow(link):
    return parse_qs(urlsplit(link).query)


def ask(client, **asked):
    answer = client.post("/v1/search", json={"collection": "abstracts", "explain": True, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_lay_name_finds_what_research_calls_otherwise(client):
    body = ask(client, text="heart attack")
    assert body["understood"]["names"] == [{"typed": "heart attack", "names": ["myocardial infarction"]}]
    (hit,) = (item for item in body["hits"] if item["document"] == "pm/1")
    assert hit["lexical"] is True
    assert hit["explain"]["matched_terms"] == ["infarction", "myocardial"]
    assert sum(hit["explain"]["final"].values()) == hit["score"]
    assert body["total"]["value"] == 1


def test_it_is_taken_back_by_a_parameter(client):
    body = ask(client, text="heart attack", as_typed=["heart attack"])
    assert (body["understood"]["names"], body["understood"]["expansions"], body["total"]["value"]) == ([], [], 0)
    asked = client.get("/v1/search?collection=abstracts&text=heart+attack&as_typed=heart+attack&as_typed=x,+y").json
    assert asked["total"]["value"] == 0


def test_a_chip_takes_it_back_and_another_one_puts_it_back(client):
    page = get(client, f"/search?collection=abstracts&text={TEXT}")
    assert "Also searched as: heart attack = myocardial infarction" in page.text
    (without,) = (link for link in page.links("/search") if "as_typed" in link)
    assert follow(without)["as_typed"] == ["heart attack"]
    page = get(client, without)
    assert "Also searched as" not in page.text
    assert "Searched as typed: heart attack" in page.text
    assert page.value("as_typed") == "heart attack"
    again = next(
        link for link in page.links("/search?") if follow(link) == {"collection": ["abstracts"], "text": [TEXT]}
    )
    assert "Also searched as: heart attack" in get(client, again).text


def test_notes_are_searched_by_the_names_that_were_typed(client):
    body = ask(client, collection="notes", text="lung infection outlook")
    assert body["understood"]["names"] == []


def test_the_command_line_says_it_and_takes_it_back(home, monkeypatch):
    monkeypatch.setenv("MEDLEY_HOME", str(home))
    monkeypatch.setenv("MEDLEY_ENCODER", "hashing-256")
    run = CliRunner().invoke
    said = run(cli, ["search", "heart attack", "-c", "abstracts", "--no-rerank"])
    assert "heart attack is also searched as myocardial infarction" in said.output
    kept = run(cli, ["search", "heart attack", "-c", "abstracts", "--no-rerank", "--as-typed", "heart attack"])
    assert kept.exit_code == 0
    assert "also searched" not in kept.output

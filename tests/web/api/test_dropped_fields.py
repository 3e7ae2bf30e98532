"""What a record has and its kind does not know no longer vanishes without a word, whichever way it comes."""

import json
import logging

from portal_home import settings_of
from posting import good, outcomes, post, told, total

from mappings.collection import load
from mappings.documents import Document
from mappings.formats.fields import MAX_DROPPED
from mappings.formats.jsonl import parse_record
from search.bootstrap import Medley
from web.access.caller import LOCAL
from web.access.log import AccessLog, Actor
from web.cli.commands.ingest import SHOWN, accept, report_text
from web.use_cases import UseCases
from workers.delivery import NAMED_DROPPED, OTHER_DROPPED, Delivery
from workers.queueing.queue import Queue
from workers.queueing.worker import IndexWorker

KIND = load("abstracts")


def record(**more):
    return parse_record(good("a") | more, KIND)


def test_a_post_names_the_keys_whose_values_were_not_kept(client):
    sent = [
        good("a") | {"lables": ["x"], "pmid": "1"},
        good("b") | {"lables": ["y"], "url": "z"},
        {"id": "c", "odd": 1},
    ]
    records, whole = outcomes(post(client, sent))
    assert records[:2] == [told(1, "a", "accepted", 1), told(2, "b", "accepted", 1)]
    assert whole == total(accepted=2, rejected=1, dropped={"lables": 2, "url": 1})
    assert list(whole["dropped_fields"]) == ["lables", "url"]


def test_a_post_of_known_keys_drops_nothing(client):
    fields = {"authors": ["Doe, A"], "doi": "10.1000/a", "mesh": ["Soap"], "volume": "1", "language": "eng"}
    assert outcomes(post(client, [good("a") | fields]))[1] == total(accepted=1)


def test_ingest_says_what_it_did_not_keep(home):
    medley = Medley.open(settings_of(home))
    use_cases = UseCases(medley, AccessLog(home / "access.log"), LOCAL, Actor("command line", "ada"))
    report = accept(use_cases, "abstracts", [record(site="x", **{f"key{n:02}": 1 for n in range(30)})])
    assert report["dropped_fields"]["site"] == 1
    notice = report_text(report).splitlines()[-1]
    assert notice.startswith("not kept: key00 (1), key01 (1), ")
    assert f"and {31 - SHOWN} more: the collection's kind has no such fields" in notice
    assert "not kept" not in report_text(accept(use_cases, "abstracts", [record()]))


def test_a_worker_logs_what_it_did_not_keep(home, tmp_path, caplog):
    file = tmp_path / "feed.jsonl"
    file.write_text(json.dumps(good("a") | {"site": "x"}) + "\n")
    medley = Medley.open(settings_of(home))
    with caplog.at_level(logging.WARNING):
        IndexWorker(medley, Queue("redis://127.0.0.1:1/0")).parse("abstracts", str(file), "jsonl")
    assert "{'site': 1}" in caplog.text


def test_values_that_are_empty_are_not_missed():
    assert record(a=None, b="", c=[], d={}, e=0, f=False).dropped == ("e", "f")


def test_any_keys_are_named_in_bounded_space():
    found = record(**{f"{number}" * 100: 1 for number in range(1000)}, **{"\x1b[2J": 1}).dropped
    assert len(found) == MAX_DROPPED
    assert max(map(len, found)) == 64
    assert record(**{"\x1b[2J\nx": 1}).dropped == ("[2J x",)


def test_a_delivery_counts_any_number_of_names_in_bounded_space(store):
    delivery = Delivery(store, "abstracts")
    for number in range(NAMED_DROPPED + 5):
        delivery.accept([Document(f"a{number}", "T", (), dropped=(f"key{number}",))])
    assert len(delivery.dropped) == NAMED_DROPPED + 1
    assert delivery.dropped[OTHER_DROPPED] == 5


def test_a_dropped_name_is_no_content(store):
    first, second = Document("a", "T", ()), Document("a", "T", (), dropped=("x",))
    assert first == second
    assert [item.changed for item in (*store.put([first]), *store.put([second]))] == [True, False]

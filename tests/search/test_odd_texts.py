"""Texts that no author meant: endless sentences, noise, tables, broken characters. Each is indexed, found and shown."""

import random

import pytest
from small_collections import fill

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

READER = Access("reader", frozenset({"clinical"}))
WORDS = "the patient has pneumonia without effusion and denies fever but mother with diabetes no chest pain on warfarin"
ODD = {
    "capitals": "PATIENT HAS PNEUMONIA. NO EFFUSION. DENIES FEVER.",
    "no-full-stop": "pneumonia no effusion\nno fever\n- gout",
    "scanned": "Pat1ent w1th pneumonia , n o effus1on . No feve r .",
    "hidden-words": "XXXX XXXX pneumonia XXXX no XXXX effusion XXXX",
    "only-hidden": "XXXX",
    "table": "Problem\tStatus\nPneumonia\tpresent\nEffusion\tnone\n| Fever | no |\n|---|---|",
    "mojibake": "NaÃ¯ve patient â€“ pneumonia; no â€œeffusionâ€\x9d \ufffd\ufffd",
    "controls": "pneumonia\x00\x01 no\u200b effusion \u202e fever",
    "brackets": "(" * 3000 + " pneumonia " + ")" * 3000,
    "list": "no " + ", ".join(["effusion"] * 2000),
    "dots": "." * 20_000 + " pneumonia",
    "one-word": "a" * 100_000,
}


def sentence(words: int) -> str:
    chooser = random.Random(3)
    known = WORDS.split()
    return " ".join(chooser.choice(known) for _ in range(words))


@pytest.fixture(scope="module")
def medley(tmp_path_factory):
    made = Medley.open(Settings(home=tmp_path_factory.mktemp("odd"), encoder="hashing-256", reranker="none"))
    texts = ODD | {"long": sentence(20_000)}
    fill(made, "notes", [Document(name, name, (Section("", text),), READER.labels) for name, text in texts.items()])
    return made


def found(medley, **asked):
    return {hit.document: hit for hit in medley.search(Query("notes", READER, size=50, **asked)).hits}


def test_what_they_say_is_found_with_its_words(medley):
    hits = found(medley, having=("pneumonia",))
    assert {*ODD, "long"} - {*hits} == {"only-hidden", "list", "one-word"}
    for hit in hits.values():
        [proof] = hit.proofs
        assert proof.text[proof.mark.start : proof.mark.end].lower() == "pneumonia"


def test_what_they_rule_out_is_told(medley):
    ruled_out = {"capitals", "no-full-stop", "hidden-words", "table"}
    assert ruled_out <= found(medley, having=("ruled-out:effusion",)).keys()
    assert not ruled_out & found(medley, having=("effusion",)).keys()


@pytest.mark.parametrize(
    "text", [*(text for text in ODD.values() if len(text) < 10_000), '"' * 50, "- - -", ".*+?[](){}^$|\\"]
)
def test_they_are_answered_as_searches(medley, text):
    results = medley.search(Query("notes", READER, text))
    assert results.degraded == ()

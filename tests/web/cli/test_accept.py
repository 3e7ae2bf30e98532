"""What `medley ingest` does with the records of a file, on a real store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from search.engines.embedded.store import EmbeddedStore
from web.access.caller import LOCAL
from web.access.log import AccessLog, Actor
from web.cli.commands import ingest
from web.use_cases import RECORD_STATUSES, UseCases


class Installation:
    """The part of a `Medley` that accepting documents needs."""

    def __init__(self, folder: Path) -> None:
        self._store = EmbeddedStore(folder)
        self.collections = self

    def store(self, name: str) -> EmbeddedStore:
        return self._store


def use_cases(medley: Installation, folder: Path) -> UseCases:
    return UseCases(medley, AccessLog(folder / "access.log"), LOCAL, Actor("command line", "ada"))


def document(identifier: str, text: str = "Text.") -> Document:
    return Document(identifier, "", (Section("", text),), frozenset({"public"}))


def standing(medley: Installation, *ids: str) -> dict[str, str | None]:
    found = medley.collections.store("notes").latest(ids)
    return {name: item.document.sections[0].text if item.document else None for name, item in found.items()}


def test_deletions_and_documents_are_carried_out_in_order(tmp_path):
    medley = Installation(tmp_path)
    records = [
        document("a"),
        Deletion("a"),
        document("b", "Old."),
        Deletion("c"),
        Rejection("f", "line 5", "bad"),
        Deletion("b"),
        document("b", "New."),
        document("b", "New."),
        Deletion("a"),
    ]
    report = ingest.accept(use_cases(medley, tmp_path), "notes", records)
    assert {name: value for name, value in report.items() if name != "rejections"} == {
        "accepted": 4,
        "unchanged": 1,
        "stale": 0,
        "deleted": 2,
        "rejected": 1,
        "dropped_fields": {},
    }
    assert standing(medley, "a", "b", "c") == {"a": None, "b": "New."}
    feed, fed = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert (feed["action"], fed["action"], feed["asked"]["job"]) == ("feed", "fed", fed["asked"]["job"])
    assert {name: fed["asked"][name] for name in RECORD_STATUSES} == {
        "accepted": 3, "unchanged": 1, "stale": 0, "deleted": 2, "unknown": 2, "rejected": 1,
    }  # fmt: skip


def test_a_reader_that_fails_breaks_the_delivery_off(tmp_path):
    def records():
        yield document("a")
        raise InvalidInput("not a file")

    medley = Installation(tmp_path)
    with pytest.raises(InvalidInput, match="not a file"):
        ingest.accept(use_cases(medley, tmp_path), "notes", records())
    fed = json.loads((tmp_path / "access.log").read_text().splitlines()[-1])
    assert (fed["action"], fed["status"]) == ("fed", 400)
    job = medley.collections.store("notes").job(fed["asked"]["job"])
    assert (job.broken, bool(job.finished)) == (True, True)


RECORDS = st.tuples(st.sampled_from("abc"), st.sampled_from(["one", "two", None]))


@given(st.lists(RECORDS, max_size=12), st.integers(1, 5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_last_change_of_a_document_wins(tmp_path_factory, monkeypatch, records, size):
    folder = tmp_path_factory.mktemp("store")
    medley = Installation(folder)
    monkeypatch.setattr(ingest, "BATCH", size)
    changes = [document(key, text) if text else Deletion(key) for key, text in records]
    ingest.accept(use_cases(medley, folder), "notes", changes)
    expected = dict(records)
    found = standing(medley, *expected)
    assert {key: found.get(key) for key in expected} == expected

"""What came and went over HTTP, indexed by a worker, is in no file after a purge."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import quick_command
from markers import Markers
from worker_process import eventually, working

from search.settings import Settings
from web import create_app

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ADDRESS = "/v1/documents?collection=notes"


def test_what_came_and_went_over_http_is_in_no_file(redis, tmp_path):
    home, markers = tmp_path / "home", Markers(seed=31)
    settings = {"home": str(home), "redis": redis.url, "encoder": "hashing-256", "reranker": "none"}
    app = create_app(Settings(**(settings | {"home": home})))
    medley, client = app.extensions["medley"].medley, app.test_client()
    medley.collections.create("notes")
    store = medley.collections.store("notes")

    def post(*records) -> None:
        body = "".join(f"{json.dumps(record)}\n" for record in records)
        assert client.post(ADDRESS, data=body, content_type="application/x-ndjson").status_code == 200

    def settled() -> bool:
        index = medley.engine.published("notes")
        return bool(index) and not store.pending(index, 1)

    def record(number: int, text: str, version: int) -> dict[str, object]:
        return {"id": f"n{number}", "text": f"asthma {text}", "labels": ["clinical"], "source_version": version}

    with working(tmp_path / "worker", settings) as worker:
        for version in (1, 2):
            post(*[record(number, f"{markers.word()} {markers.word()}", version) for number in range(60)])
            for item in store.latest([f"n{number}" for number in range(60)]).values():
                markers.mark(item.document)
            eventually(settled, f"version {version} is indexed", told=lambda: worker.log)
        post(*[record(number, "", 3) for number in range(20)])
        post(*[{"id": f"n{number}", "deleted": True, "source_version": 3} for number in range(20, 40)])
        for number in range(40, 60):
            assert client.delete(f"/v1/documents/n{number}?collection=notes").status_code == 200
        eventually(settled, "deletions are indexed", told=lambda: worker.log)
        assert markers.found(home)
        done = subprocess.run(
            quick_command("purge", "--json"),
            env=os.environ | {f"MEDLEY_{name.upper()}": value for name, value in settings.items()},
            cwd=ROOT,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["collections"][0] == {
            "collection": "notes", "versions": 120, "documents": 40, "jobs": 0, "waiting": 0, "kept": [],
        }  # fmt: skip
        assert markers.found(home) == []
        post(record(20, markers.word(), 2))  # a late copy
        assert store.latest(["n20"]) == {}
        found = client.get("/v1/search?collection=notes&text=asthma&size=100").json
        assert {hit["document"] for hit in found["hits"]} == {f"n{number}" for number in range(20)}
    assert markers.found(home) == []

"""Discourse models on the command line: listed, used by `ingest`, `index rebuild` and `search --explain`, and cut documents told."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner
from discourse_home import NAME, settings_in

from encoders.discourse.reading import MOST_SENTENCES
from web.cli.main import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    for name in ("home", "models", "collections", "encoder", "reranker"):
        monkeypatch.setenv(f"MEDLEY_{name.upper()}", str(getattr(settings, name)))

    def call(*words: str, code: int = 0):
        done = CliRunner().invoke(cli, [*words, "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    return call


def test_from_files_to_an_explained_answer(run, tmp_path):
    texts = {
        "gout": "Gout is joint pain. Allopurinol is treatment.",
        "long": "Rest is treatment. " * (MOST_SENTENCES + 5),
    }
    lines = [{"id": name, "title": name, "text": text, "labels": ["public"]} for name, text in texts.items()]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    report = run("ingest", str(tmp_path / "in.jsonl"), "-c", NAME)
    assert (report["indexed"], report["cut_documents"], report["unread_sentences"]) == (2, 1, 5)
    report = run("index", "rebuild", NAME)
    assert (report["documents"], report["unread_sentences"]) == (2, 5)
    assert run("index", "verify", NAME)["problems"] == []
    answer = run("search", "-c", NAME, "--entity", "gout", "--aspect", "treatment", "--explain")
    assert answer["hits"][0]["explain"]["legs"]["discourse"]["weight"] == 0.5


def test_models_are_listed_and_a_damaged_one_is_named(run, tmp_path):
    listed = {item["name"]: item for item in run("models")["models"]}
    assert (listed["by-words"]["kind"], listed["by-words"]["state"]) == ("discourse", "ok")
    assert run("models", "by-words")["fingerprint"] == listed["by-words"]["fingerprint"]
    (tmp_path / "models" / "by-words" / "words.npz").write_bytes(b"")
    (damaged,) = [item for item in run("models", code=1)["models"] if item["name"] == "by-words"]
    assert "words.npz" in damaged["state"]


def test_a_model_outside_of_the_models_folder_is_listed_by_its_path(run, tmp_path, monkeypatch):
    aside = tmp_path / "aside" / "model"
    shutil.copytree(tmp_path / "models" / "by-words", aside)
    monkeypatch.setenv("MEDLEY_DISCOURSE", str(aside))
    names = [item["name"] for item in run("models")["models"] if item["kind"] == "discourse"]
    assert names == ["by-words", str(aside)]
    assert run("models", str(aside)) == run("models", "by-words")
    monkeypatch.setenv("MEDLEY_DISCOURSE", str(tmp_path / "nowhere" / "model"))
    assert "by-words" in [item["name"] for item in run("models")["models"]]
    (tmp_path / "in.jsonl").write_text('{"id": "gout", "title": "Gout", "text": "Pain.", "labels": ["public"]}')
    refused = CliRunner().invoke(cli, ["ingest", str(tmp_path / "in.jsonl"), "-c", NAME])
    assert refused.exit_code == 1
    assert "known are by-words;" in str(refused.exception)

"""`medley label` as a user sees it: files, collections, and one clear line for an error."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import quick_command

ROOT = Path(__file__).parents[3]
PLAN = "PLAN: Allopurinol was begun for her gout and will be checked in spring."


@pytest.fixture
def medley(tmp_path):
    environ = os.environ | {"MEDLEY_HOME": str(tmp_path / "home"), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none", "PYTHONPATH": str(ROOT)}  # fmt: skip
    environ.pop("MEDLEY_DATA", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(quick_command(*arguments), capture_output=True, text=True, cwd=tmp_path, env=environ)

    return run


def notes(path: Path) -> Path:
    records = [{"id": f"n{number}", "title": f"Visit {number}", "text": PLAN} for number in range(2)]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in [*records, {"id": "bad"}]))
    return path


def queries(out: Path) -> list[str]:
    return [json.loads(line)["query"] for line in (out / "pairs" / "entity-aspect.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_files_and_collections_label_themselves_alike(medley, tmp_path):
    file = notes(tmp_path / "notes.jsonl")
    ran = medley("label", "entity-aspect", "from-files", str(file), "--kind", "notes", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["pairs"] == {"entity-aspect": 2}
    assert "line 3" in ran.stderr
    assert medley("ingest", str(file), "-c", "notes", "--store-only").returncode == 1  # the bad record
    ran = medley("label", "entity-aspect", "from-store", "--collection", "notes", "--json")
    assert ran.returncode == 0, ran.stderr
    assert queries(tmp_path / "from-store") == queries(tmp_path / "from-files") == ["gout plan", "gout plan"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        (["out"], "MEDLEY_DATA", "MEDLEY_DATA is not set"),
        (["out", "nothing.jsonl"], "path", "there is no such file"),
        (["out", "notes.jsonl", "--collection", "notes"], "collection", "not both"),
        (["out", "notes.jsonl", "--lexicon", "mine.tsv"], "mine.tsv", "line 1: a line must be a name, a tab"),
        (["out", "--collection", "nobody"], "collection", "there is no collection 'nobody'"),
    ],
)
def test_an_error_is_one_line(medley, tmp_path, arguments, field, message):
    notes(tmp_path / "notes.jsonl")
    (tmp_path / "mine.tsv").write_text("a\tb\tc\n")
    ran = medley("label", "entity-aspect", *arguments, "--json")
    error = json.loads(ran.stderr)["error"]
    assert (ran.returncode, error["field"]) == (1, field)
    assert message in error["message"]


@pytest.mark.slow
def test_vectors_and_variants_of_what_was_labelled(medley, tmp_path):
    pytest.importorskip("gensim")
    text = {"title": "", "heading": "", "text": "Aspirin and heparin thin the blood of older adults in wards. " * 25}
    labels = tmp_path / "labels"
    for name in ("corpora", "pairs"):
        (labels / name).mkdir(parents=True)
    (labels / "corpora" / "c.jsonl").write_text(json.dumps({"id": "t", **text}))
    pair = {"task": "t", "id": "p", "group": "g", "split": "train", "corpus": "c", "relevant": ["t"]}
    pair |= {"query": "Aspirin and heparin thin the blood", "positive": {"id": "t", **text}, "negatives": []}
    (labels / "pairs" / "t.jsonl").write_text(json.dumps(pair))
    ran = medley("label", "vectors", "labels", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["vocabulary"] == 11
    (labels / "neighbours.jsonl").write_text('{"word": "aspirin", "near": ["warfarin"]}')
    ran = medley("label", "augment", "labels/pairs/t.jsonl", "more.jsonl", "--neighbours", "labels/neighbours.jsonl", "--m", "2", "--json")  # fmt: skip
    assert json.loads(ran.stdout) == {"pairs": 1, "variants": 2}
    assert [json.loads(line)["query"] for line in (tmp_path / "more.jsonl").read_text().splitlines()] == [
        "Aspirin and heparin thin the blood",
        "warfarin Aspirin and heparin thin the blood",
        "Warfarin and heparin thin the blood",
    ]
    assert medley("label", "augment", "labels/pairs/t.jsonl", "x", "--neighbours", "none").returncode == 1

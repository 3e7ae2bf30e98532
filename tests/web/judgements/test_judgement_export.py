"""The export of judgements: read by evaluation and by training, without a name, and without what is gone."""

import json
from dataclasses import asdict, replace

import orjson
import pytest
from command_line import medley as command
from portal_home import settings_of

from encoders.labels.pairs import read_pairs
from encoders.labels.split import split_of
from evaluation.suites import beir
from mappings.documents import Access, Deletion
from mappings.errors import Conflict, InvalidInput, NotFound
from search.bootstrap import Medley
from search.kept.items import KeptDraft
from web.judgements.exports import ExportCounts, export_judgements
from workers.collections.removal import remove_collection

CLAIM = "Aspirin prevents strokes"
STATINS = "Do statins lower mortality?"
FIRST, SECOND = "2026-11-12T09:30:00+00:00", "2026-11-13T09:30:00+00:00"


@pytest.fixture
def opened(home):
    found = Medley.open(settings_of(home))
    yield found
    found.close()


def one(text, document, grade=None, stance=None, at=FIRST, passage=""):
    passage = passage or f"{document}@1#0"
    return {"text": text, "document": document, "passage": passage, "grade": grade, "stance": stance, "at": at}


def keep(opened, user, *judgements, name="one", collection="abstracts"):
    draft = KeptDraft("judgements", name, {"judgements": list(judgements)}, collection)
    return opened.kept.add(Access(user, frozenset({"public"})), draft)


@pytest.fixture
def judged(opened):
    keep(
        opened,
        "ada-lovelace",
        one(CLAIM, "pm/2", 2, "supports"),
        one(STATINS, "pm/1", 2),
        one(STATINS, "pm/4", 2, "refutes"),
        one(STATINS, "pm/3", 0, "neither"),
    )
    keep(
        opened,
        "bob-the-builder",
        one("ASPIRIN prevents strokes", "pm/2", 1, "supports"),
        one(STATINS, "pm/1", 1),
        one(STATINS, "pm/4", 0, "supports"),
    )
    keep(opened, "bob-the-builder", one("pneumonia", "p1/n1", 2), name="notes", collection="notes")
    return opened


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_folder_has_the_documents_the_texts_and_the_mean_grades(judged, tmp_path):
    counts = export_judgements(judged, "abstracts", tmp_path / "out")
    assert asdict(counts) == asdict(
        ExportCounts(judgements=7, users=2, queries=2, documents=5, graded=4, gone=0, pairs=2, tied=1, changed=0)
    )
    corpus = {item["_id"]: item for item in lines(tmp_path / "out/corpus.jsonl")}
    assert corpus.keys() == {"pm/1", "pm/2", "pm/3", "pm/4", "secret/1"}
    assert corpus["pm/2"] == {
        "_id": "pm/2",
        "title": "Aspirin for prevention of stroke",
        "text": "Results: Aspirin reduced stroke in adults. Bleeding was more frequent.",
    }
    queries = {item["text"]: item["_id"] for item in lines(tmp_path / "out/queries.jsonl")}
    assert list(queries) == ["ASPIRIN prevents strokes", STATINS]
    assert (tmp_path / "out/qrels/test.tsv").read_text().splitlines() == [
        "query-id\tcorpus-id\tscore",
        f"{queries['ASPIRIN prevents strokes']}\tpm/2\t2",  # 1.5
        f"{queries[STATINS]}\tpm/1\t2",
        f"{queries[STATINS]}\tpm/3\t0",
        f"{queries[STATINS]}\tpm/4\t1",
    ]


def test_evaluation_reads_it(judged, tmp_path):
    export_judgements(judged, "abstracts", tmp_path / "out")
    task = beir.task(tmp_path / "out")
    assert {question.text: task.judgements[question.id] for question in task.questions} == {
        "ASPIRIN prevents strokes": {"pm/2": 2},
        STATINS: {"pm/1": 2, "pm/3": 0, "pm/4": 1},
    }
    assert task.notes == ("out, split test: 5 documents",)
    documents = {item.id: item for item in task.corpus.documents()}
    (section,) = documents["pm/2"].sections
    assert (section.heading, section.text) == (
        "Results",
        "Aspirin reduced stroke in adults. Bleeding was more frequent.",
    )


def test_training_reads_the_stances_on_which_most_agree(judged, tmp_path):
    export_judgements(judged, "abstracts", tmp_path / "out")
    first, second = read_pairs(tmp_path / "out/stance-judged.jsonl")
    assert (first.query, first.stance, first.evidence) == ("ASPIRIN prevents strokes", "supports", None)
    assert (first.corpus, first.split, first.group) == ("abstracts", split_of(first.query), first.query)
    assert (first.positive.id, first.positive.title) == ("pm/2@1#0", "Aspirin for prevention of stroke")
    assert first.positive.text == "Results: Aspirin reduced stroke in adults. Bleeding was more frequent."
    assert (second.query, second.positive.id, second.stance) == (STATINS, "pm/3@1#0", "neither")


def test_no_name_of_a_user_is_in_it(judged, tmp_path):
    export_judgements(judged, "abstracts", tmp_path / "out")
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"lovelace" not in written
    assert b"builder" not in written
    assert b"pneumonia" not in written


def test_documents_that_are_gone_and_passages_that_changed_are_left_out(judged, tmp_path):
    store = judged.collections.store("abstracts")
    store.put([Deletion("pm/2")])
    store.put([replace(store.latest(["pm/3"])["pm/3"].content, title="Metformin, revised")])
    counts = export_judgements(judged, "abstracts", tmp_path / "out")
    assert (counts.documents, counts.graded, counts.gone, counts.pairs, counts.tied, counts.changed) == (
        4,
        3,
        1,
        0,
        1,
        1,
    )
    assert "pm/2" not in (tmp_path / "out/corpus.jsonl").read_text()
    assert [question.text for question in beir.task(tmp_path / "out").questions] == [STATINS]
    assert list(read_pairs(tmp_path / "out/stance-judged.jsonl")) == []


def test_a_user_counts_once_with_the_best_passage_and_the_newest_judgement(opened, tmp_path):
    keep(opened, "ada", one(CLAIM, "pm/2", 0, "supports"), one(CLAIM, "pm/2", 2, passage="pm/2@1#1"))
    keep(opened, "ada", one(CLAIM, "pm/2", 1, "refutes", at=SECOND), name="two")
    counts = export_judgements(opened, "abstracts", tmp_path / "out")
    assert (counts.judgements, counts.users, counts.graded) == (2, 1, 1)
    assert (tmp_path / "out/qrels/test.tsv").read_text().endswith("\tpm/2\t2\n")
    assert [pair.stance for pair in read_pairs(tmp_path / "out/stance-judged.jsonl")] == ["refutes"]


def test_without_a_relevant_document_evaluation_says_so(opened, tmp_path):
    keep(opened, "ada", one(CLAIM, "pm/2", 0))
    export_judgements(opened, "abstracts", tmp_path / "out")
    with pytest.raises(InvalidInput, match="judges no document relevant"):
        beir.task(tmp_path / "out")


def test_what_can_not_be_exported_says_why_and_leaves_nothing(judged, tmp_path):
    export_judgements(judged, "abstracts", tmp_path / "out")
    with pytest.raises(Conflict, match="exists already"):
        export_judgements(judged, "abstracts", tmp_path / "out")
    with pytest.raises(NotFound, match="there is no collection"):
        export_judgements(judged, "nowhere", tmp_path / "other")
    for item in list(judged.kept.export()):
        judged.kept.remove(item.id)
    with pytest.raises(NotFound, match="nobody has judged"):
        export_judgements(judged, "abstracts", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_operator_exports_on_the_command_line(judged, home, tmp_path, logged):
    done = command(home, "judgements", "export", "abstracts", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.splitlines() == [
        "7 judgements by 2 users on 2 texts",
        "4 grades, over 5 documents",
        "2 pairs of stances",
        "left out: 1 passage whose users disagree on the stance",
    ]
    assert logged()[-1]["action"] == "kept export"
    assert logged()[-1]["asked"] == {"judgements": 7, "users": 2}
    again = command(home, "judgements", "export", "abstracts", str(tmp_path / "out"), "--json")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "out").rglob("*")} == {0}


def test_the_judgements_of_a_collection_go_with_it(judged):
    remove_collection(judged, "abstracts")
    assert [orjson.dumps(item.content).count(b"pneumonia") for item in judged.kept.export()] == [1]

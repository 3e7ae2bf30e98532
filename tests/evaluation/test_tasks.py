"""The suites' tasks on small files in the form of their data sets, written here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.split import is_test_note
from evaluation.corpus.abstracts import merged
from evaluation.rows import describe_rows
from evaluation.stages import draw_candidates
from evaluation.suites import check_covid, claims, cystic_fibrosis, medquad, notes, press, scifact
from evaluation.task import Corpus, Question, Task
from mappings.errors import InvalidInput, NotFound
from search.settings import Settings


def write(data: Path, name: str, records: Iterable[dict[str, Any]]) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))


@pytest.fixture
def data(tmp_path: Path) -> Settings:
    write(
        tmp_path,
        "scifact/corpus.jsonl.gz",
        [
            {"doc_id": 1, "title": "Zinc and colds.", "abstract": ["Zinc shortens colds.", "We tried it."]},
            {"doc_id": 2, "title": "Sleep", "abstract": ["Sleep helps."]},
        ],
    )
    write(
        tmp_path,
        "scifact/claims_dev.jsonl.gz",
        [
            {"id": 7, "claim": "Zinc shortens colds.", "evidence": {}, "cited_doc_ids": [1]},
            {"id": 8, "claim": "Nobody cites this.", "evidence": {}, "cited_doc_ids": []},
        ],
    )
    sections = [{"label": "Methods", "text": "A trial."}, {"label": None, "text": "It worked."}]
    pool = [
        {"doc_id": "a", "title": "Zinc, and COLDS", "sections": sections},
        {"doc_id": "b", "title": "Other", "sections": sections},
        {"doc_id": "c", "title": "other!", "sections": sections},
    ]
    write(tmp_path, "abstracts/abstracts.jsonl.gz", pool)
    return replace(Settings(), data=tmp_path)


def test_scifact_judges_by_cited_documents_and_leaves_uncited_claims_out(data: Settings) -> None:
    task = scifact.task(data)
    assert task.judgements == {"7": {"1": 1}}
    assert [(item.id, item.text) for item in task.questions] == [("7", "Zinc shortens colds.")]
    first = next(iter(task.corpus.documents()))
    assert (first.id, first.title, first.sections[0].text) == (
        "1",
        "Zinc and colds.",
        "Zinc shortens colds. We tried it.",
    )


def test_a_twin_in_the_pool_is_its_original(data: Settings) -> None:
    documents = list(scifact.task(data, distractors=True).corpus.documents())
    assert [item.id for item in documents] == ["1", "2", "pool:b"]
    assert [section.heading for section in documents[2].sections] == ["Methods", ""]


def test_documents_without_title_are_nobodys_twin(data: Settings) -> None:
    untitled = [replace(item, id=str(number), title="") for number, item in enumerate(scifact.corpus(data))]
    assert len(list(merged(untitled, untitled))) == 4


def test_check_covid_joins_claims_of_one_text_and_drops_undecided_ones(data: Settings) -> None:
    def claim(number: int, text: str, document: str, label: str) -> dict[str, Any]:
        return {"id": f"c{number}", "claim": text, "cord_id": document, "label": label}

    write(Path(str(data.data)), "check_covid/corpus.jsonl.gz", [{"cord_id": "x", "title": "T", "abstract": ["A."]}])
    write(
        Path(str(data.data)),
        "check_covid/claims_dev.jsonl.gz",
        [
            claim(1, "Masks help.", "x", "SUPPORT"),
            claim(2, "masks help", "y", "REFUTE"),
            claim(3, "No.", "x", "NOTENOUGHINFO"),
        ],
    )
    task = check_covid.task(data)
    assert task.judgements == {"c1": {"x": 1, "y": 1}}
    assert [item.text for item in task.questions] == ["Masks help."]


def test_press_conclusions_of_one_text_are_one_document(data: Settings) -> None:
    pairs = [("p1", "Press A", "It is so."), ("p2", "Press B", "It is so"), ("p3", "Press C", "It is not.")]
    keys = ("original_file_id", "press_release_conclusion", "abstract_conclusion")
    write(
        Path(str(data.data)),
        "press_releases/insciout_test.jsonl.gz",
        [dict(zip(keys, pair, strict=True)) for pair in pairs],
    )
    task = press.task(data)
    assert task.judgements == {"p1": {"p1": 1}, "p2": {"p1": 1}, "p3": {"p3": 1}}
    assert [(item.id, item.sections[0].text) for item in task.corpus.documents()] == [
        ("p1", "It is so."),
        ("p3", "It is not."),
    ]


@pytest.fixture
def articles(data: Settings) -> Settings:
    base = Path(str(data.data))

    def passage(name: str, text: str) -> dict[str, str]:
        return {"id": name, "question": f"SECRET {name}", "question_type": "information", "text": text}

    write(
        base,
        "medquad/documents.jsonl.gz",
        [
            {
                "id": "A",
                "title": "Gout",
                "passages": [passage("A-1", "Uric acid."), passage("A-2", "Pain. "), passage("A-3", " ")],
            },
            {
                "id": "B",
                "title": "Gout again",
                "passages": [passage("B-1", "uric acid"), passage("B-2", "Not judged.")],
            },
        ],
    )
    write(
        base,
        "medquad/cdv_test_passages.jsonl.gz",
        [{"passage": name, "document": name[0], "entity": "Gout"} for name in ("A-1", "A-2", "A-3", "B-1")],
    )
    query = {"entity": "Gout", "aspect": "information", "aspect_heading": "information"}
    write(
        base,
        "medquad/cdv_test_queries.jsonl.gz",
        [{"id": "q", "question": "What is gout?", "relevant": ["A-1"], **query}],
    )
    return data


def test_medquad_never_shows_the_question_and_titles_only_where_said(articles: Settings) -> None:
    main, titled, slots = medquad.tasks(articles)
    plain = list(main.corpus.documents())
    assert [(item.id, item.title, item.sections[0].heading, item.sections[0].text) for item in plain] == [
        ("A-1", "", "", "Uric acid."),
        ("A-2", "", "", "Pain. "),
        ("B-1", "", "", "uric acid"),
    ]
    assert [item.title for item in titled.corpus.documents()] == ["Gout", "Gout", "Gout again"]
    assert "SECRET" not in str(plain + list(titled.corpus.documents()))
    assert [(item.text, item.entity, item.aspect) for item in slots.questions] == [("", "Gout", "information")]
    assert (main.candidates, main.variant, titled.variant, slots.variant) == (
        64,
        "",
        "with document title",
        "entity + aspect",
    )


def test_medquad_counts_twins_as_equal_and_strictly(articles: Settings) -> None:
    main = medquad.tasks(articles)[0]
    assert (main.judgements, main.strict) == ({"q": {"A-1": 1, "B-1": 1}}, {"q": {"A-1": 1}})


def test_medquad_full_ranks_every_passage(articles: Settings) -> None:
    main = medquad.tasks(articles, full=True)[0]
    assert [item.id for item in main.corpus.documents()] == ["A-1", "A-2", "B-1", "B-2"]
    assert main.candidates is None


def test_cystic_fibrosis_adds_the_readers_scores(data: Settings) -> None:
    base = Path(str(data.data))
    rows = [{"doc_id": "00139", "title": "T", "abstract": ""}, {"doc_id": "00200", "title": "", "abstract": ""}]
    write(base, "cystic_fibrosis/corpus.jsonl.gz", rows)
    write(base, "cystic_fibrosis/queries.jsonl.gz", [{"query_id": "00001", "text": "mucus?"}])
    (base / "cystic_fibrosis/qrels.tsv").write_text("query_id\tdoc_id\tscore4\n00001\t139\t1222\n00001\t151\t00018\n")
    task = cystic_fibrosis.task(data)
    assert task.judgements == {"00001": {"00139": 7, "151": 1}}
    assert [item.id for item in task.corpus.documents()] == ["00139"]


def test_a_sample_is_fixed_and_holds_its_own_judgements(articles: Settings) -> None:
    many = [{"id": f"q{number}", "question": f"What {number}?", "relevant": ["A-1"]} for number in range(40)]
    slots = {"entity": "Gout", "aspect": "information", "aspect_heading": "information"}
    write(Path(str(articles.data)), "medquad/cdv_test_queries.jsonl.gz", [query | slots for query in many])
    samples = [task.sampled(7) for task in medquad.tasks(articles)]
    ids = [[item.id for item in sample.questions] for sample in samples]
    assert ids[0] == ids[1] == ids[2]
    assert len(ids[0]) == 7
    assert [*samples[0].judgements] == [*(samples[0].strict or {})] == ids[0]
    assert len(medquad.tasks(articles)[0].sampled(400).questions) == 40


def test_without_data_the_message_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as unset:
        scifact.task(Settings())
    told = "this reads scifact, one of the data sets of the project: set MEDLEY_DATA to their folder"
    assert unset.value.message == told  # and nothing of `evaluate`: tune and the benches say it, too
    with pytest.raises(NotFound, match="there is no folder 'scifact' in MEDLEY_DATA"):
        scifact.task(replace(Settings(), data=tmp_path))
    (tmp_path / "scifact").mkdir()
    with pytest.raises(NotFound, match=r"claims_dev\.jsonl is missing \(there is no claims_dev\.jsonl\.gz either\)"):
        scifact.task(replace(Settings(), data=tmp_path))


def test_medquad_gives_a_shared_id_to_the_judged_entity(articles: Settings) -> None:
    base = Path(str(articles.data))
    path = base / "medquad/documents.jsonl.gz"
    known = gzip.decompress(path.read_bytes()).decode()
    row = {"id": "A-1", "question": "?", "question_type": "information", "text": "Of another disease."}
    twin = json.dumps({"id": "A", "title": "Other", "passages": [row]})
    for text in (f"{twin}\n{known}", f"{known}\n{twin}"):
        path.write_bytes(gzip.compress(text.encode()))
        texts = {item.id: item.sections[0].text for item in medquad.tasks(articles)[0].corpus.documents()}
        assert texts["A-1"] == "Uric acid."


NOTE = "SUBJECTIVE:,  This woman has had hay fever since she was a child and comes for advice about it.,MEDICATIONS:,  She takes loratadine every morning and a nasal spray in the evening when it is bad."


def test_notes_are_split_by_the_product_and_asked_by_their_labels(data: Settings) -> None:
    held_out = [f"n{number}" for number in range(60) if is_test_note(f"n{number}")]
    rows = [
        {
            "id": f"n{number}",
            "name": f"Hay Fever - {number}",
            "description": "Hay fever.",
            "specialties": [],
            "text": NOTE,
        }
        for number in range(60)
    ]
    write(Path(str(data.data)), "mtsamples/notes.jsonl.gz", rows)
    task = notes.task(data)
    documents = list(task.corpus.documents())
    assert [item.id for item in documents] == held_out
    assert [section.heading.lower() for section in documents[0].sections] == ["subjective", "medications"]
    assert {item.text.lower() for item in task.questions} == {"hay fever subjective", "hay fever medications"}
    wanted = next(item for item in task.questions if item.text.lower() == "hay fever medications")
    assert set(task.judgements[wanted.id]) == {f"{name}#1" for name in held_out}
    assert "0 labelled sections" in task.notes[1]


def test_sections_of_notes_are_found_among_random_ones(data):
    rows = [
        {
            "id": f"mts{number:04}",
            "name": f"Visit {number}",
            "description": "Hay fever.",
            "specialties": [],
            "text": NOTE,
        }
        for number in range(400)
    ]
    write(Path(str(data.data)), "mtsamples/notes.jsonl.gz", rows)
    whole, task = notes.task(data), notes.among_random(data)
    documents = {item.id: item for item in task.corpus.documents()}
    assert (task.variant, task.candidates, task.unit) == ("64 random candidates", 64, "document")
    assert [item.heading.lower() for item in documents[task.pool[0]].sections] == ["subjective"]
    assert all(item.fields[task.candidate_field] == key for key, item in documents.items())
    assert set(documents) == set(task.pool)
    assert task.judgements == whole.judgements
    assert all(set(own) <= set(task.pool) for own in task.judgements.values())


def test_sections_of_notes_ask_for_themselves_by_what_they_affirm(data: Settings) -> None:
    """CAPR's protocol: an affirmed entity and the heading; neither titles nor headings are in what is ranked."""
    text = (
        "PAST MEDICAL HISTORY:,  She has had gout for ten years, and no asthma at all.,"
        "PLAN:,  Allopurinol was begun for her gout and will be checked in spring."
    )
    rows = [
        {"id": f"n{number}", "name": f"Visit {number}", "description": "A visit.", "specialties": [], "text": text}
        for number in range(60)
    ]
    write(Path(str(data.data)), "mtsamples/notes.jsonl.gz", rows)
    held_out = [f"n{number}" for number in range(60) if is_test_note(f"n{number}")]
    task = notes.by_slots(data)
    documents = {item.id: item for item in task.corpus.documents()}
    assert {(item.text, item.entity, item.aspect) for item in task.questions} == {
        ("", "gout", "past medical history"),
        ("", "gout", "plan"),
    }
    answers = {item.aspect: set(task.judgements[item.id]) for item in task.questions}
    assert answers == {
        "past medical history": {f"{name}#0" for name in held_out},
        "plan": {f"{name}#1" for name in held_out},
    }
    assert {(item.title, item.sections[0].heading) for item in documents.values()} == {("", "")}
    assert all(item.fields[task.candidate_field] == key for key, item in documents.items())
    assert [list(note) for note in task.whole] == [[f"{name}#0", f"{name}#1"] for name in held_out]
    assert task.pool == tuple(documents)
    assert all(note[key] == documents[key].sections[0].text for note in task.whole for key in note)
    assert (task.variant, task.candidates, task.leads) == ("64 random candidates, entity + aspect", 64, True)


def test_random_candidates_hold_the_answers_and_never_change():
    pool = [f"d{number}" for number in range(300)]
    grades = {"d7": 1, "d8": 2, "d9": 0, "elsewhere": 1}
    drawn = draw_candidates(pool, grades, 64, "q1")
    assert len(drawn) == 64
    assert {"d7", "d8", "elsewhere"} <= drawn
    assert drawn == draw_candidates(pool[::-1], grades, 64, "q1")
    assert len(drawn & draw_candidates(pool, grades, 64, "q2")) < 40
    assert draw_candidates(pool[:9], grades, 64, "q1") == {*pool[:9], "elsewhere"}
    assert draw_candidates(pool, grades, 2, "q1") == {"d7", "d8", "elsewhere"}


def test_the_measures_are_those_of_the_papers() -> None:
    assert ("RR", *(f"Success@{cutoff}" for cutoff in (1, 3, 5, 20, 100, 500))) == claims.MEASURES
    assert medquad.MEASURES[:4] == ("Success@1", "Success@5", "Success@10", "AP")


def test_a_row_is_of_the_task_with_the_longest_variant_that_it_begins_with() -> None:
    first = Task("small", Corpus("small", "notes", tuple), (), {}, ("Success@1",))
    tasks = [
        first,
        replace(first, variant="64", trained="no"),
        replace(first, variant="64, slots", trained="yes", leads=True, questions=(Question("1", "gout"),)),
    ]
    rows = [
        {"system": f"dense{part}", "measures": {}}
        for part in ("", ", 64", ", 64, slots", ", 64, slots, some (3)", ", 6")
    ]
    assert describe_rows(tasks, rows) == [
        rows[2] | {"note": "yes", "queries": 1},
        rows[3] | {"note": "yes"},
        rows[0],
        rows[1] | {"note": "no"},
        rows[4],
    ]

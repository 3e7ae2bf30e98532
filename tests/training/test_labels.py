from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from encoders.labels.pairs import Pair, read_pairs, read_texts
from encoders.labels.run import label_datasets
from encoders.labels.tasks.abstracts import extract_conclusions
from encoders.labels.tasks.notes import label_notes, note_sections
from encoders.training.discourse.recipe import DiscourseRecipe
from encoders.training.kinds import load_any_recipe
from encoders.training.recipe_source import RECIPES
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.mtsamples import TranscribedNote
from mappings.documents import Section
from mappings.errors import NotFound


@pytest.fixture(scope="module")
def labelled(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("labelled")
    counts = label_datasets(data, out)
    assert orjson.loads((out / "counts.json").read_bytes()) == counts
    return out


def pairs(labelled: Path, task: str) -> list[Pair]:
    return list(read_pairs(labelled / "pairs" / f"{task}.jsonl"))


def test_every_leak_is_dropped_and_counted(labelled: Path) -> None:
    dropped = orjson.loads((labelled / "counts.json").read_bytes())["dropped"]
    assert {what: count for what, count in dropped.items() if count} == {
        "scifact claims near a development claim": 1,
        "topics: titles without a condition and an aspect of it": 40,
        "topics: questions without a condition and an aspect of it": 1,
        "stance-scifact: claims near a development claim": 1,
        "abstracts of the twentieth for evaluation": 1,
        "abstracts whose title is evaluated": 2,
        "abstracts that a press test pair quotes": 1,
        "corpus abstracts: passages near one of check-covid": 1,
        "health articles on a judged entity, under any of its names": 1,
        "health passages near a test passage": 1,
        "notes of the test side or with a twin there": 1,
        "corpus citations: passages near one of citations": 2,
        "definition: terms that are a judged entity, under any of its names": 1,
    }


def test_claims_keep_their_cited_abstract_only(labelled: Path) -> None:
    (pair,) = pairs(labelled, "scifact")
    assert (pair.query, pair.relevant, pair.positive.id) == ("Statin zero lowers the risk of stroke.", ("0",), "0")
    assert [found.query for found in pairs(labelled, "check-covid")] == ["Masks stop the virus."]
    assert [found.positive.text for found in pairs(labelled, "press")] == ["Sweet drinks harm teeth in the young"]


def test_a_title_pair_does_not_show_its_title(labelled: Path) -> None:
    found = pairs(labelled, "title")
    assert found
    assert all(pair.query.startswith("Care bundle") and pair.positive.title == "" for pair in found)


def test_a_conclusion_pair_does_not_show_its_conclusion(labelled: Path) -> None:
    found = pairs(labelled, "conclusion")
    assert found
    assert all(re.fullmatch(r"Care bundle .* falls by \d+ percent with the new care", pair.query) for pair in found)
    corpus = {text.id: text for text in read_texts(labelled / "corpora" / "findings.jsonl")}
    assert all(corpus[pair.positive.id] == pair.positive for pair in found)
    assert not any("conclude" in text.text for text in corpus.values())


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("These results suggest that statins prevent stroke in older adults.", "Statins prevent stroke in older adults"),
        ("Taken together, our data demonstrate that BRCA1 loss slows repair of DNA breaks.", "BRCA1 loss slows repair of DNA breaks"),
        ("In conclusion, honey at low dilution stops the growth of bacteria.", "Honey at low dilution stops the growth of bacteria"),
        ("Honey at low dilution stops the growth of bacteria in wounds.", None),
        ("We showed that masks in schools lower the rate of flu.", "Masks in schools lower the rate of flu"),
        ("The present results suggested statins to slow dementia in mice.", "Statins to slow dementia in mice"),
        ("In summer, heat lowers the number of heart attacks at sea.", None),
        ("The treated mice showed a lower rate of tumours than others.", None),
        ("We conclude that it works.", None),
    ],
)  # fmt: skip
def test_a_last_sentence_that_is_announced_is_a_finding(said: str, claim: str | None) -> None:
    body = "We asked many people about many things, and wrote down what they said. " * 4
    abstract = SectionedAbstract("x", "Honey", (Section("", f"{body}{said}"),))
    found = extract_conclusions([abstract])
    assert [finding for finding, _ in found.values()] == ([claim] if claim else [])
    assert all(said not in text.text and text.text.startswith("We asked") for _, text in found.values())


def test_a_research_question_knows_its_abstract_in_the_pool(labelled: Path) -> None:
    (pair,) = pairs(labelled, "pubmedqa")
    assert (pair.positive.text, pair.relevant) == ("One. Two.", ("pubmedqa:7", "pmc:0"))


def test_trials_give_two_prompts_of_training_articles(labelled: Path) -> None:
    found = pairs(labelled, "trial")
    assert [pair.positive.id for pair in found] == ["pmc:1", "pmc:1"]
    assert all(("aspirin" in pair.query and "placebo" in pair.query) or "reduces" in pair.query for pair in found)


def test_evaluated_health_articles_are_nowhere(labelled: Path) -> None:
    corpus = list(read_texts(labelled / "corpora" / "health.jsonl"))
    assert {text.id.partition("-")[0] for text in corpus} == {*(f"d{n}" for n in range(12)), "d51"}
    assert [text.id for text in corpus if text.id.startswith("d51")] == ["d51-1"]
    assert {pair.query for pair in pairs(labelled, "question")} >= {"What are the symptoms of Disease 3 ?"}
    assert all(pair.query.startswith(pair.positive.title) for pair in pairs(labelled, "slots"))


def test_the_other_passages_of_its_article_are_around_an_answer(labelled: Path) -> None:
    pairs = [pair for task in ("question", "slots") for pair in read_pairs(labelled / f"pairs/{task}.jsonl")]
    around = {part for pair in pairs for part in (*pair.positive.before, *pair.positive.after)}
    assert around
    assert around <= {text.text for text in read_texts(labelled / "corpora/health.jsonl")}
    assert not any(pair.positive.text in (*pair.positive.before, *pair.positive.after) for pair in pairs)


def test_no_group_stands_on_both_sides(labelled: Path) -> None:
    for path in (labelled / "pairs").iterdir():
        sides: dict[str, set[str]] = {}
        for pair in read_pairs(path):
            sides.setdefault(pair.group, set()).add(pair.split)
        assert all(len(found) == 1 for found in sides.values())


def test_a_note_is_asked_for_by_name_or_description_and_heading() -> None:
    text = "SUBJECTIVE:,  A woman came with sneezing that began in the early spring of this year again.,PLAN: , Rest."
    note = TranscribedNote("m1", "Allergic Rhinitis - 2", "Seen for sneezing in spring. More.", (), text)
    assert [(s.heading, s.text) for s in note_sections(note)] == [
        ("subjective", "A woman came with sneezing that began in the early spring of this year again."),
        ("plan", "Rest."),
    ]
    (pair,) = label_notes([note])
    assert pair.query in ("Allergic Rhinitis subjective", "Seen for sneezing in spring subjective")
    assert note_sections(replace(note, text="no heading at all")) == []


def test_a_missing_data_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"MEDLEY_DATA is .*, which contains none of the data sets"):
        label_datasets(tmp_path, tmp_path / "out")
    (tmp_path / "mts_dialog").mkdir()
    with pytest.raises(NotFound, match="there is no folder 'scifact' in MEDLEY_DATA"):
        label_datasets(tmp_path, tmp_path / "out")


def test_the_commands_write_every_task_that_a_recipe_asks_for(labelled: Path) -> None:
    written = {file.stem for file in (labelled / "pairs").glob("*.jsonl")} | {"entity-aspect", "finding", "substituted"}
    corpora = {file.stem for file in (labelled / "corpora").glob("*.jsonl")}
    for file in RECIPES.glob("*.toml"):
        recipe = load_any_recipe(file)
        if isinstance(recipe, DiscourseRecipe):
            assert {*recipe.documents, *recipe.descriptions} <= corpora, file.name
        else:
            assert recipe.tasks.keys() <= written, file.name

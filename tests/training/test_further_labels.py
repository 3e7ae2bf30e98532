"""Pairs of experts' questions, citations, checked claims, plain language and names, on small files written here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from label_data import LAY

from encoders.labels.pairs import read_pairs, read_texts
from encoders.labels.run import label_datasets
from encoders.labels.split import link
from encoders.labels.tasks import claims, questions, summaries, terms, verified
from mappings.datasets.bioasq import ExpertQuestion, Snippet


def write(root: Path, name: str, *records: Mapping[str, Any]) -> None:
    path = root / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


def asked(name: str, year: int, *documents: str, text: str = "") -> dict[str, Any]:
    said = "Badgers of the burrow {} were seen to leave it at dusk."
    snippets = [{"document": item, "section": "abstract", "text": said.format(item)} for item in documents]
    return {"id": name, "question": text or f"Where is {name}?", "year": year, "snippets": snippets}


def experts(root: Path, *records: Mapping[str, Any]) -> tuple[list[ExpertQuestion], Counter[str]]:
    write(root, "bioasq/questions", *records)
    dropped: Counter[str] = Counter()
    return questions.read_expert_questions(root, dropped), dropped


def test_sets_with_a_key_in_common_are_one_group() -> None:
    assert link([("d", "c"), ("x",), ("c", "a"), ("z", "y")]) == {
        "a": "a",
        "c": "a",
        "d": "a",
        "x": "x",
        "y": "y",
        "z": "y",
    }


def test_an_experts_pair_and_passage_tell_their_years(tmp_path: Path) -> None:
    found, _ = experts(tmp_path, asked("a", 3, "1", "2"), asked("b", 5, "2"), asked("c", 5, "4"))
    assert [text.id for text in questions.expert_texts(found)] == ["3:1", "3+5:2", "5:4"]
    pairs = {pair.id: pair for pair in questions.label_experts(found)}
    assert pairs.keys() == {"expert:3:a:1", "expert:3:a:2", "expert:5:b:2", "expert:5:c:4"}
    assert pairs["expert:3:a:2"].relevant == ("3:1", "3+5:2")
    assert pairs["expert:3:a:2"].positive.id == "3+5:2"
    assert len({pair.group for pair in pairs.values()}) == 2


def test_what_a_question_of_the_test_years_judges_answers_none(tmp_path: Path) -> None:
    found, dropped = experts(tmp_path, asked("a", 3, "1", "2"), asked("b", 9, "2"), asked("c", 10, "3"))
    assert dropped == {"expert: abstracts that a question of the test years judges": 1}
    assert [text.id for text in questions.expert_texts(found)] == ["3:1"]
    (pair,) = questions.label_experts(found)
    assert (pair.query, pair.relevant) == ("Where is a?", ("3:1",))


def test_a_question_has_six_abstracts_and_none_of_a_few_words(tmp_path: Path) -> None:
    found, _ = experts(tmp_path, asked("a", 3, *map(str, range(9))))
    short = Snippet("99", "abstract", "three badgers (n = 3)")
    found = [ExpertQuestion(item.id, item.text, item.year, (*item.snippets, short)) for item in found]
    pairs = list(questions.label_experts(found))
    assert len(pairs) == questions.ANSWERS
    assert {len(pair.relevant) for pair in pairs} == {10}
    assert "3:99" not in {pair.positive.id for pair in pairs}


def test_questions_in_the_same_words_are_one_group(tmp_path: Path) -> None:
    found, _ = experts(
        tmp_path, asked("a", 3, "1", text="Where do they sleep?"), asked("b", 4, "2", text="where do THEY sleep")
    )
    assert len({pair.group for pair in questions.label_experts(found)}) == 1


def test_a_long_question_is_paired_with_its_short_form_in_other_words(tmp_path: Path) -> None:
    asked = [
        ("1", "My aunt, 70, itches. What helps?", "What helps against itching?", True),
        ("2", "What helps?", "what helps", True),
        ("3", "Is it the liver?", "What is the dose of tea?", False),
        ("4", "An uncle itches, what now?", "What helps against itching?", True),
    ]
    names = ("id", "question", "faq", "entails")
    write(tmp_path, "question_entailment/pairs", *(dict(zip(names, item, strict=True)) for item in asked))
    dropped: Counter[str] = Counter()
    found = questions.read_entailed(tmp_path, dropped)
    assert dropped == {"entailed: questions whose short form has the same words": 1}
    pairs = list(questions.label_entailed(found))
    assert [(pair.id, pair.positive.text) for pair in pairs] == [
        ("entailed:1", "What helps against itching?"),
        ("entailed:4", "What helps against itching?"),
    ]
    assert len({pair.group for pair in pairs}) == 1
    assert [text.id for text in questions.short_texts(found)] == [pairs[0].positive.id]


def test_paragraphs_of_the_cited_article_with_the_evidence_are_known_answers(tmp_path: Path) -> None:
    paragraphs = {7000: ["One.", "Two."], 7001: ["Two.", "Four."], 7002: [], 7003: ["One."], 8000: ["Two."]}
    write(
        tmp_path,
        "citation_integrity/corpus",
        *({"doc_id": name, "title": "", "abstract": text} for name, text in paragraphs.items()),
    )
    evidence = [{"sentences": [0], "label": "SUPPORT"}]
    cited = [(1, {"7001": evidence}), (2, {}), (3, {"7002": []})]
    write(
        tmp_path,
        "citation_integrity/claims_train",
        *({"id": name, "claim": f"Claim {name}.", "cited_doc_ids": [7001], "evidence": found} for name, found in cited),
    )
    (pair,) = claims.label_citations(tmp_path)
    assert (pair.query, pair.positive.text, pair.relevant) == ("Claim 1.", "Two. Four.", ("7000", "7001"))


def test_checked_claims_share_a_group_with_their_evidence(tmp_path: Path) -> None:
    names = ("id", "question", "claim", "evidence", "label")
    checked = [
        ("1", "q", "Tea cures colds", "Tea did nothing.", "REFUTE"),
        ("2", "q", "Tea cures colds", "Many drink tea.", "NEUTRAL"),
        ("3", "q", "Tea is useless", "Tea did nothing.", "SUPPORT"),
    ]
    write(tmp_path, "healthver/pairs", *(dict(zip(names, item, strict=True)) for item in checked))
    told = {"claim": "Masks help", "evidence": ["Fewer fell ill.", "All wore one."]}
    worded = [
        {**told, "id": number, "claim": f"{word} help"} for number, word in enumerate(("Masks", "Tasks", "Casks"))
    ]
    labels = ("SUPPORT", "REFUTE", "REFUTE")
    write(
        tmp_path, "covid_fact/claims", *({**item, "label": label} for item, label in zip(worded, labels, strict=True))
    )
    dropped: Counter[str] = Counter()
    found = verified.read_checked_claims(tmp_path, dropped)
    assert dropped == {"verified: further claims that replace words of one": 1}
    texts = {text.text for text in verified.evidence_texts(found)}
    assert texts == {"Tea did nothing.", "Many drink tea.", "Fewer fell ill. All wore one."}
    pairs = list(verified.label_verified(found))
    assert [pair.id for pair in pairs[:3]] == ["verified:healthver:1", "verified:healthver:3", "verified:covid-fact:0"]
    assert len(pairs) == 4
    assert len({pair.group for pair in pairs}) == 2


@pytest.fixture
def named(tmp_path: Path) -> tuple[terms.Names, Counter[str]]:
    write(tmp_path, "medquad/documents")
    write(tmp_path, "medquad/cdv_test_passages")
    write(tmp_path, "medquad/cdv_test_queries")
    meant = [
        ("nci-cancer-terms", "pruritus", "Itching of the skin."),
        ("nhs-conditions", "Itching", "Find out what helps."),
        ("nhs-conditions", "Hives", "Hives are a rash."),
    ]
    write(
        tmp_path,
        "lay/definitions",
        *({"source": source, "term": term, "definition": text} for source, term, text in meant),
    )
    called = [
        ("hpo-layperson", "Itchy skin", "Pruritus"),
        ("hpo-layperson", "Itchy skin", "Dermal itch"),
        ("psytar", "I itched all night long and then some more", "Pruritus"),
        ("prism", "dangerous", "adverse"),
        ("nci-also-called", "PRURITUS", "pruritus"),
        ("psytar", "cold hand", "Coldness of hand"),
    ]
    write(tmp_path, "lay/terms", *({"source": source, "lay": lay, "technical": name} for source, lay, name in called))
    dropped: Counter[str] = Counter()
    return terms.read_names(tmp_path, dropped), dropped


def test_a_lay_name_is_paired_with_the_explanation_or_the_name(named: tuple[terms.Names, Counter[str]]) -> None:
    found, dropped = named
    pairs = [(pair.query, pair.corpus, pair.positive.text) for pair in terms.label_lay_names(found)]
    assert pairs == [
        ("Itchy skin", "definitions", "Itching of the skin."),
        ("Itchy skin", "names", "Dermal itch"),
        ("cold hand", "names", "Coldness of hand"),
    ]
    first, second, third = terms.label_lay_names(found)
    assert first.relevant == second.relevant == ("definition:0", "name:dermal itch")
    assert first.group == second.group != third.group
    assert dropped["lay-name: general words, sentences and names with the same words"] == 3
    assert {text.text for text in terms.name_texts(found)} == {"Dermal itch", "Coldness of hand"}


def test_a_term_is_paired_with_its_explanation_without_it(named: tuple[terms.Names, Counter[str]]) -> None:
    found, dropped = named
    pairs = list(terms.label_definitions(found))
    assert [(pair.query, pair.positive.title) for pair in pairs] == [("pruritus", ""), ("Hives", "")]
    assert [text.title for text in terms.definition_texts(found)] == ["pruritus", "Hives"]
    assert dropped["definition: teasers"] == 1


def test_some_names_of_one_thing_are_drawn() -> None:
    lay = [terms.LayTerm("psytar", f"sore spot {number}", "Pain", "") for number in range(20)]
    found = terms.Names({}, {"pain": terms.Text("name:pain", "", "", "Pain")}, lay, {"pain": "pain"})
    assert len(list(terms.label_lay_names(found))) == terms.NAMES_EACH


def test_sentences_of_one_text_are_numbered_and_in_the_group_of_its_summary(tmp_path: Path) -> None:
    said = [
        ("The nine trials found that a splint helps.", "Nine trials say that splints are of help."),
        ("The nine trials found that a splint helps.", "We looked at nine trials and splints helped."),
        ("It hurts.", "It still hurts, as all of them said."),
        ("Of the harms nobody wrote a single word.", "Of the harms, nobody wrote a single word!"),
    ]
    records = [{"id": LAY["train"], "source": "cochrane-auto", "technical": one, "lay": other} for one, other in said]
    write(tmp_path, "lay/sentences", *records, {**records[0], "id": LAY["test"]})
    summary = {"id": LAY["train"], "source": "elife", "technical": "Splints were tried.", "lay": "Do they help? Yes."}
    write(tmp_path, "lay/passages", summary, {**summary, "id": LAY["test"]})
    dropped: Counter[str] = Counter()
    found = summaries.read_training_sentences(tmp_path, dropped)
    assert dropped == {
        "lay-sentence: sentences of few words": 1,
        "lay-sentence: sentences with the same words": 1,
    }
    first, second = summaries.label_sentences(found)
    assert first.positive == second.positive == summaries.sentence_texts(found)[0]
    assert first.positive.id == f"{LAY['train']}:0"
    (whole,) = summaries.label_summaries(summaries.read_training_summaries(tmp_path))
    assert (whole.query, whole.positive.text) == ("Do they help?", "Splints were tried.")
    assert whole.group == first.group


def test_every_task_is_written_and_nothing_judged_is_in_it(data: Path, tmp_path: Path) -> None:
    label_datasets(data, tmp_path)

    def queries(task: str) -> list[str]:
        return [pair.query for pair in read_pairs(tmp_path / "pairs" / f"{task}.jsonl")]

    assert queries("expert") == ["How long do otters sleep?"]
    assert queries("citation") == ["In a hospital every bed was counted."]
    assert queries("verified") == ["Gloves stop colds", "Onions keep colds away"]
    assert queries("entailed") == ["My aunt has itchy feet, what helps?"]
    assert queries("definition") == ["pruritus"]
    assert queries("lay-name") == ["Itchy feet"]
    for corpus in ("summaries", "lay-sentences"):
        names = {text.id.partition(":")[0] for text in read_texts(tmp_path / "corpora" / f"{corpus}.jsonl")}
        assert names <= {LAY["train"]}

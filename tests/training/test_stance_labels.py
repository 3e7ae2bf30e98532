"""Claims with a text and its stance, from small files in the form of the public data sets."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.pairs import Pair, Text, parse_pair, read_pairs, write_lines
from encoders.labels.run import label_datasets
from encoders.labels.tasks import stances, trial_claims
from encoders.labels.tasks.reversed_claims import reverse
from mappings.errors import InvalidInput

SENTENCES = ["We gave hats to boys.", "Hats reduced colds by 20 percent.", "Boys smiled."]
ABSTRACT = {"title": "Hats", "abstract": SENTENCES}


def write(root: Path, name: str, *records: dict[str, Any]) -> None:
    path = root / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


def marked(pair: Pair) -> list[str]:
    return [pair.positive.text[start:end] for start, end in pair.evidence or ()]


def test_a_cited_abstract_without_evidence_is_neither(tmp_path: Path) -> None:
    write(tmp_path, "scifact/corpus", {"doc_id": 1, **ABSTRACT}, {"doc_id": 2, **ABSTRACT, "title": "Caps"})
    evidence = {"1": [{"sentences": [1], "label": "SUPPORT"}]}
    asked = {"id": 5, "claim": "Hats reduce colds.", "cited_doc_ids": [1, 2], "evidence": evidence}
    write(tmp_path, "scifact/claims_train", asked)
    write(tmp_path, "scifact/claims_dev", {**asked, "claim": "Otters swim."})
    found = list(stances._scifact(tmp_path, Counter()))
    assert [(pair.id, pair.stance, marked(pair)) for pair in found] == [
        ("stance-scifact:5:1", "supports", [SENTENCES[1]]),
        ("stance-scifact:5:1:short", "supports", [SENTENCES[1]]),
        ("stance-scifact:5:2", "neither", []),
        ("stance-scifact:5:2:short", "neither", []),
    ]
    assert found[1].positive.text == SENTENCES[1]
    assert found[3].positive.text == SENTENCES[1]
    write(tmp_path, "scifact/claims_dev", {**asked, "claim": "Hats reduce colds"})
    dropped: Counter[str] = Counter()
    assert list(stances._scifact(tmp_path, dropped)) == []
    assert dropped == {"stance-scifact: claims near a development claim": 1}


def test_what_says_too_little_is_shown_by_its_sentences_only(tmp_path: Path) -> None:
    write(tmp_path, "check_covid/corpus", {"cord_id": "a", **ABSTRACT})
    news = {"id": "n", "claim": "Hats cause colds.", "cord_id": "a", "label": "REFUTE"}
    little = {**news, "label": "NOTENOUGHINFO", "evidence_set": [{"sent_index": 0}]}
    write(tmp_path, "check_covid/claims_train", {**news, "evidence_set": [{"sent_index": 1}]}, little)
    write(tmp_path, "check_covid/claims_dev", {**news, "claim": "Otters swim."})
    found = list(stances._check_covid(tmp_path, Counter()))
    assert [(pair.stance, pair.positive.text, marked(pair)) for pair in found] == [
        ("refutes", " ".join(SENTENCES), [SENTENCES[1]]),
        ("refutes", SENTENCES[1], [SENTENCES[1]]),
        ("neither", SENTENCES[0], []),
    ]


@pytest.mark.parametrize(
    ("claim", "text", "options"),
    [
        ("Hats increase colds.", "", {"Hats decrease colds."}),
        ("Higher hats reduce colds.", "", {"Lower hats reduce colds.", "Higher hats increase colds."}),
        ("Hats help 20 boys.", "It helped 20 boys.", {"Hats help 5 boys.", "Hats help 10 boys.", "Hats help 40 boys.", "Hats help 60 boys."}),
        ("Hats help 20 boys.", "It helped many.", {None}),
        ("Hats are warm.", "", {"Hats are not warm."}),
        ("Hats are not warm.", "", {None}),
        ("Hats", "", {None}),
    ],
)  # fmt: skip
def test_a_claim_is_reversed_by_one_word(claim: str, text: str, options: set[str | None]) -> None:
    made = {reverse(claim, str(key), text) for key in range(40)}
    assert made == options


def test_only_supported_claims_are_reversed_and_then_they_are_refuted() -> None:
    text = Text("t", "", "", "Hats reduced colds.")
    given = [
        Pair("stance-x", f"stance-x:{stance}", "g", "train", "x", "Hats reduce colds.", ("t",), text, stance=stance)
        for stance in ("supports", "refutes", "neither")
    ]
    (made,) = stances._reversed(given)
    assert (made.id, made.query, made.stance) == ("stance-x:supports:reversed", "Hats increase colds.", "refutes")


def trial(root: Path, label: str, words: str, *more: dict[str, str]) -> list[Pair]:
    said = "Hats were compared with caps in forty boys. Colds were fewer with hats than with caps."
    write(
        root,
        "evidence_inference/abstracts",
        {"pmcid": "1", "title": "Hats", "abstract_sections": [{"label": "", "text": said}]},
    )
    write(
        root, "evidence_inference/prompts",
        {"PromptID": "9", "PMCID": "1", "Intervention": "hats", "Comparator": "caps", "Outcome": "colds"},
    )  # fmt: skip
    found = {"PromptID": "9", "PMCID": "1", "Label": label, "Annotations": words}
    write(root, "evidence_inference/annotations", found, *({**found, **item} for item in more))
    (root / "evidence_inference/train_article_ids.txt").write_text("1\n")
    return list(trial_claims.label_trial_findings(root, Counter()))


def test_a_trials_finding_is_claimed_rightly_and_wrongly(tmp_path: Path) -> None:
    right, wrong = trial(tmp_path, "significantly decreased", "Colds were fewer with hats than with caps.")
    assert (right.stance, wrong.stance) == ("supports", "refutes")
    assert right.query != wrong.query
    assert {word for word in ("hats", "caps", "colds") if word in right.query.lower()} == {"hats", "caps", "colds"}
    assert marked(right) == marked(wrong) == ["Colds were fewer with hats than with caps."]


def test_words_from_elsewhere_in_a_report_are_a_text_of_their_own(tmp_path: Path) -> None:
    right, _ = trial(tmp_path, "no significant difference", "In the third table the groups had colds alike.")
    assert right.positive.text == "In the third table the groups had colds alike."
    assert right.evidence is None
    assert trial(tmp_path, "no significant difference", "12 vs. 14") == []


def test_findings_that_contradict_each_other_are_left_out(tmp_path: Path) -> None:
    assert (
        trial(tmp_path, "significantly decreased", "Colds were fewer with hats.", {"Label": "significantly increased"})
        == []
    )
    with pytest.raises(InvalidInput, match="finding"):
        trial(tmp_path, "much better", "Colds were fewer with hats.")


def test_a_pair_keeps_its_stance_on_its_way_through_a_file(tmp_path: Path) -> None:
    text = Text("t", "", "", "Hats reduced colds.")
    pair = Pair("x", "x:1", "g", "train", "x", "Hats.", ("t",), text, stance="refutes", evidence=((0, 4),))
    write_lines(tmp_path / "x.jsonl", [pair])
    assert list(read_pairs(tmp_path / "x.jsonl")) == [pair]


@pytest.mark.parametrize(
    ("change", "field"),
    [({"stance": "maybe"}, "stance"), ({"stance": 1}, "stance"), ({"evidence": [[0, 99]]}, "evidence"),
     ({"evidence": [[3, 3]]}, "evidence"), ({"evidence": [0, 4]}, "evidence"), ({"evidence": "0-4"}, "evidence"),
     ({"evidence": [[True, 4]]}, "evidence")],
)  # fmt: skip
def test_a_wrong_stance_or_range_is_named(change: dict[str, Any], field: str) -> None:
    passage = {"id": "t", "title": "", "heading": "", "text": "Hats reduced colds."}
    record = {"task": "x", "id": "1", "group": "g", "split": "train", "corpus": "x", "query": "Hats.",
              "relevant": ["t"], "positive": passage, "negatives": []}  # fmt: skip
    with pytest.raises(InvalidInput) as caught:
        parse_pair({**record, **change})
    assert caught.value.field == field


def test_every_stance_task_is_labelled(data: Path, tmp_path: Path) -> None:
    counts = label_datasets(data, tmp_path)["pairs"]
    names = {name for name in counts if name.startswith("stance-")}
    assert names == {f"stance-{name}" for name in stances._LABELLERS}

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest
import radiology_reports
from click.testing import CliRunner

from encoders.labels.counts import join_counts
from encoders.labels.pairs import Pair, read_pairs, read_texts
from encoders.labels.phrasing import query
from encoders.labels.sentences import FOLDS, Concept, assign_folds, label_sentences, match_concepts, read_sentences
from encoders.labels.split import is_test_note, split_of
from encoders.labels.tasks.findings import label_findings
from encoders.labels.tasks.polarity import make_polarity_pairs, names
from mappings.analysis.mentions.finding_lexicon import family, finding_entries
from mappings.analysis.mentions.findings import labels
from mappings.analysis.mentions.negation import negated
from mappings.datasets.indiana_cxr import ChestReport
from mappings.errors import InvalidInput, NotFound
from web.cli.main import cli

LICENCES = {"finding": "unstated (Open-i)", "polarity": "made by this project, Apache-2.0"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return radiology_reports.write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    counts = label_findings(data, out)
    assert orjson.loads((out / "counts.json").read_bytes()) == counts
    return out


def pairs(out: Path, folder: str) -> list[Pair]:
    return list(read_pairs(out / folder / "finding.jsonl"))


@pytest.mark.slow
def test_the_counts_are_those_of_the_reports(out: Path) -> None:
    counts = orjson.loads((out / "counts.json").read_bytes())
    folds_said = counts.pop("folds")
    assert counts == {
        "sentences": 12 * 10 + 2,
        "labels": 12 * 9 + 2,
        "findings": 6,
        "positives": 12 * 5 + 1,
        "negatives": 12 * 4 + 1,
        "dropped": {"sentences without a finding": 12, "labels that a sentence leaves open": 12},
        "pairs": {"finding": 12 * 9 + 2, "polarity": len(make_polarity_pairs())},
        "licences": LICENCES,
        "reports": "indiana",
    }
    assert sum(fold["pairs"] for fold in folds_said.values()) == counts["pairs"]["finding"]
    assert sum(fold["findings"] for fold in folds_said.values()) == counts["findings"]
    for fold in (1, 2):
        said = orjson.loads((out / f"fold-{fold}" / "counts.json").read_bytes())
        swapped = len(list(read_pairs(out / f"fold-{fold}" / "substituted.jsonl")))
        made = {
            "finding": folds_said[str(fold)]["pairs"],
            "polarity": len(make_polarity_pairs()),
            "substituted": swapped,
        }
        licences = LICENCES | {"substituted": "unstated (Open-i), names by this project"}
        assert said == {"fold": fold, "reports": "indiana", "pairs": made, "licences": licences}


@pytest.mark.slow
def test_counts_of_other_tasks_stay(data: Path, tmp_path: Path) -> None:
    join_counts(tmp_path, {"pairs": {"scifact": 7}, "dropped": {"twins": 2}})
    label_findings(data, tmp_path)
    found = orjson.loads((tmp_path / "counts.json").read_bytes())
    assert (found["pairs"]["scifact"], found["dropped"]["twins"]) == (7, 2)
    assert found["pairs"]["finding"] == 12 * 9 + 2


def test_a_pair_says_what_its_query_asks(out: Path) -> None:
    corpus = {text.id: text for text in read_texts(out / "corpora" / "sentences.jsonl")}
    found = pairs(out, "pairs")
    assert len({pair.id for pair in found}) == len(found)
    for pair in found:
        _, finding, polarity, _ = pair.id.split(":")
        present = polarity == "yes"
        assert labels(pair.positive.text)[finding] is present
        assert corpus[pair.positive.id] == pair.positive
        assert pair.positive.id in pair.relevant
        assert all(labels(corpus[item].text)[finding] is present for item in pair.relevant)
        assert labels(pair.query).get(finding) is present, pair.query
        assert not {item.id for item in pair.negatives} & set(pair.relevant)
        assert all(labels(item.text).get(finding) is not present for item in pair.negatives)
        assert not any("Possible" in item.text for item in pair.negatives if finding == "pleural effusion")


def test_negatives_say_the_opposite_or_the_same_of_others(out: Path) -> None:
    for pair in pairs(out, "pairs"):
        _, finding, polarity, _ = pair.id.split(":")
        said = Counter(labels(item.text).get(finding) for item in pair.negatives)
        if finding in ("pneumothorax", "granuloma"):
            assert said[polarity != "yes"] == 4
        assert said[polarity == "yes"] == 0
        assert said[None] <= 2


def label_texts(folder: Path, *texts: str) -> dict[tuple[str, str], Pair]:
    """The pairs of reports with one text each, by what their id says of the finding, and the text."""
    own = [ChestReport(str(number), text, "") for number, text in enumerate(texts)]
    label_findings(radiology_reports.write(folder / "data", own), folder / "out")
    found = read_pairs(folder / "out/pairs/finding.jsonl")
    return {(":".join(pair.id.split(":")[1:3]), pair.positive.text): pair for pair in found}


def test_all_sentences_that_carry_what_is_asked_are_relevant(tmp_path: Path) -> None:
    found = label_texts(tmp_path, "Small effusion.", "Large effusion.", "No effusion.", "Large effusion and scarring.")
    assert {key: set(pair.relevant) for key, pair in found.items()} == {
        ("pleural effusion:yes", "Small effusion."): {"0-0", "1-0", "3-0"},
        ("pleural effusion:yes", "Large effusion."): {"0-0", "1-0", "3-0"},
        ("pleural effusion:yes", "Large effusion and scarring."): {"0-0", "1-0", "3-0"},
        ("pleural effusion:no", "No effusion."): {"2-0"},
        ("pulmonary scarring:yes", "Large effusion and scarring."): {"3-0"},
    }


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("Pulmonary scarring, possible effusion.", "it leaves the finding open"),
        ("Effusion and pulmonary scarring.", "it says the same of the finding"),
        ("No granuloma.", "it is of another finding, and rules that out"),
    ],
)
def test_a_sentence_is_no_negative_of_what_it_may_carry(tmp_path: Path, other: str, why: str) -> None:
    found = label_texts(tmp_path, "Small effusion.", other)
    assert found["pleural effusion:yes", "Small effusion."].negatives == (), why


def test_a_kind_of_the_finding_is_no_other_finding(tmp_path: Path) -> None:
    texts = ("Pneumothorax.", "No tension pneumothorax.", "No pneumothorax.", "No granuloma.")
    pair = label_texts(tmp_path, *texts)["pneumothorax:no", "No pneumothorax."]
    assert {item.text for item in pair.negatives} == {"Pneumothorax.", "No granuloma."}


def test_two_negatives_are_of_other_findings(tmp_path: Path) -> None:
    names = ("effusion", "granuloma", "cardiomegaly", "pneumonia", "scoliosis", "emphysema", "hiatal hernia")
    found = label_texts(tmp_path, *(f"There is {name}." for name in names))
    assert max(len(pair.negatives) for pair in found.values()) == 2


def test_each_fold_has_the_findings_of_its_side(tmp_path: Path) -> None:
    label_texts(tmp_path, "Pneumothorax.", "Effusion.", "Retrocardiac opacity.")
    sides = assign_folds(match_concepts(read_sentences(tmp_path / "data")))
    for fold in FOLDS:
        named = {pair.id.split(":")[1] for pair in pairs(tmp_path / "out", f"fold-{fold}")}
        assert named
        assert {sides[name] for name in named} == {fold}
    (kind,) = (pair for pair in pairs(tmp_path / "out", "pairs") if ":retrocardiac opacity:" in pair.id)
    assert (kind.group, kind.split) == ("opacity", split_of("opacity"))
    assert split_of("retrocardiac opacity") != split_of("opacity")


def test_no_finding_and_none_of_its_kinds_is_in_both_folds(out: Path) -> None:
    families = [{family(pair.id.split(":")[1]) for pair in pairs(out, f"fold-{fold}")} for fold in (1, 2)]
    assert all(families)
    assert not families[0] & families[1]
    for fold, mine in enumerate(families, start=1):
        for pair in pairs(out, f"fold-{fold}"):
            negated = [name for item in pair.negatives for name in labels(item.text)]
            assert set(map(family, negated)) <= mine
            assert pair.group in mine
            assert pair.split == split_of(pair.group)


def test_a_family_is_never_parted() -> None:
    sides = assign_folds({Concept(name, present): ["x"] for name in finding_entries() for present in (True, False)})
    assert set(sides) == set(finding_entries())
    assert all(sides[name] == sides[family(name)] for name in sides)
    assert set(sides.values()) == {1, 2}


@pytest.mark.data
def test_the_folds_have_about_as_many_labels(data_folder: Path) -> None:
    matched = match_concepts(read_sentences(data_folder))
    sides = assign_folds(matched)
    weights = Counter(dict.fromkeys(FOLDS, 0))
    for concept, ids in matched.items():
        weights[sides[concept.finding]] += len(ids)
    assert min(weights.values()) / max(weights.values()) > 0.9
    assert sum(len(ids) >= 10 for ids in matched.values()) > 100


def test_a_wording_counts_once_and_blanks_do_not() -> None:
    report = ChestReport("7", "1. No effusion. XXXX. No Effusion! 12.", "")
    assert [(item.id, item.text, item.labels) for item in label_sentences([report])] == [
        ("7-0", "No effusion.", {"pleural effusion": False})
    ]


def test_concepts_are_in_order_of_name() -> None:
    report = ChestReport("7", "No effusion. Effusion. Scarring.", "")
    assert list(match_concepts(label_sentences([report])).items()) == [
        (Concept("pleural effusion", True), ["7-1"]),
        (Concept("pleural effusion", False), ["7-0"]),
        (Concept("pulmonary scarring", True), ["7-2"]),
    ]


def test_every_phrasing_of_a_query_is_understood() -> None:
    for name in finding_entries():
        for present in (True, False):
            assert query(Concept(name, present)) == (name if present else f"no {name}")
            asked = {query(Concept(name, present), str(key)) for key in range(40)}
            assert len(asked) > 4
            assert all(labels(text).get(name) is present for text in asked), asked


def test_made_sentences_say_what_their_pair_says() -> None:
    found = make_polarity_pairs()
    assert len(names()) > 80
    assert len({pair.id for pair in found}) == len(found) > 1_000
    said = {(pair.group, pair.id.split(":")[2], pair.positive.id) for pair in found}
    for pair in found:
        gone = pair.id.split(":")[2] == "no"
        start = pair.positive.text.lower().index(pair.group)
        assert negated(pair.positive.text, start, start + len(pair.group)) is gone
        assert pair.group in pair.query
        assert not labels(pair.query)
        assert pair.positive.id in pair.relevant
        assert all((pair.group, "yes" if gone else "no", item.id) in said for item in pair.negatives)
        assert pair.split == split_of(pair.group)


def test_folds_have_the_made_pairs_too(out: Path) -> None:
    made = [list(read_pairs(out / folder / "polarity.jsonl")) for folder in ("pairs", "fold-1", "fold-2")]
    assert made[0] == made[1] == made[2] == make_polarity_pairs()
    corpus = {text.id for text in read_texts(out / "corpora" / "polarity.jsonl")}
    assert {pair.positive.id for pair in made[0]} == corpus


def test_notes_of_radiology_are_labelled_by_section_without_those_that_are_evaluated(tmp_path: Path) -> None:
    notes = [
        (f"mts{number:04}", kind, f"FINDINGS: , Small effusion number {number}.,IMPRESSION:, No pneumothorax {number}.")
        for number, kind in enumerate(["Radiology"] * 40 + ["Surgery"])
    ]
    radiology_reports.write_notes(tmp_path, notes)
    counts = label_findings(tmp_path, tmp_path / "out", "mtsamples")
    shown = {pair.positive.id for pair in pairs(tmp_path / "out", "pairs")}
    left_out = {name for name, _, _ in notes if is_test_note(name)}
    assert {name.split(".")[0] for name in shown} == {name for name, *_ in notes[:40]} - left_out
    assert left_out
    assert counts["pairs"]["finding"] == len(shown) == 2 * (40 - len(left_out & {name for name, *_ in notes[:40]}))
    assert (counts["reports"], counts["licences"]["finding"]) == ("mtsamples", "CC0")
    assert orjson.loads((tmp_path / "out/pairs/counts.json").read_bytes())["reports"] == "mtsamples"
    assert len(read_sentences(tmp_path, "mtsamples")) == 80
    with pytest.raises(InvalidInput, match="reports is 'nih'; it is one of indiana, mtsamples"):
        read_sentences(tmp_path, "nih")


def test_missing_reports_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no folder 'indiana_cxr' in MEDLEY_DATA"):
        label_findings(tmp_path, tmp_path / "out")


def test_the_command_prints_the_counts(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDLEY_DATA", str(data))
    result = CliRunner().invoke(cli, ["label", "findings", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    assert orjson.loads(result.stdout)["pairs"]["finding"] == 110

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.finding_lexicon import ancestors, family, finding_entries
from mappings.analysis.mentions.findings import Finding, doubts, findings, labels

OPACITIES = ("airspace disease", "consolidation", "infiltrate", "opacity")


def said(text: str) -> dict[str, str]:
    """Finding -> + there, - ruled out, ? left open."""
    return {item.name: "?" if item.uncertain else "+" if item.present else "-" for item in findings(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No pneumothorax, effusion or consolidation.", {"pneumothorax": "-", "pleural effusion": "-", "consolidation": "-"}),
        ("No pneumothorax, but a small effusion.", {"pneumothorax": "-", "pleural effusion": "+"}),
        ("Pericardial effusion without pleural fluid.", {"pericardial effusion": "+", "pleural effusion": "-"}),
        ("The heart is mildly enlarged.", {"cardiomegaly": "+"}),
        ("The heart is not enlarged.", {"cardiomegaly": "-"}),
        ("Heart size is normal.", {"cardiomegaly": "-"}),
        ("Heart: Normal.", {"cardiomegaly": "-"}),
        ("Normal heart size.", {"cardiomegaly": "-"}),
        ("Heart size is not normal.", {}),
        ("Heart size at the upper limits of normal.", {"cardiomegaly": "+"}),
        ("The heart size and mediastinal contours are within normal limits.", {"cardiomegaly": "-", "mediastinal widening": "-"}),
        ("Heart is enlarged, lungs are clear.", {"cardiomegaly": "+"} | dict.fromkeys(OPACITIES, "-")),
        ("The lungs are clear.", dict.fromkeys(OPACITIES, "-")),
        ("Clear lungs with no effusion.", dict.fromkeys(OPACITIES, "-") | {"pleural effusion": "-"}),
        ("The left lung is clear.", {}),
        ("The lungs are clear of focal consolidation.", {"consolidation": "-"}),
        ("Lungs are not clear.", {}),
        ("Calcified granuloma in the left lung.", {"calcified granuloma": "+"}),
        ("Nondisplaced rib fractures.", {"rib fracture": "+"}),
        ("Cannot exclude a small pneumothorax.", {"pneumothorax": "?"}),
        ("Opacity may represent atelectasis.", {"opacity": "+", "atelectasis": "?"}),
        ("The previous effusion has resolved.", {"pleural effusion": "-"}),
        ("No change in the left effusion.", {"pleural effusion": "+"}),
        ("No increase in size of the nodule.", {"nodule": "+"}),
        ("Atelectasis rather than pneumonia.", {"atelectasis": "+", "pneumonia": "-"}),
        ("The endotracheal tube has been removed.", {"endotracheal tube": "-"}),
        ("No mass effect. Leg edema.", {}),
        ("Costophrenic angles are sharp.", {"pleural effusion": "-", "costophrenic blunting": "-"}),
        ("The osseous structures are intact.", {"fracture": "-", "bony abnormality": "-"}),
        ("Trachea is midline.", {"tracheal deviation": "-"}),
        ("Tortuous, calcified aorta.", {"tortuous aorta": "+", "atherosclerosis": "+"}),
        ("Comparison is made with the film of May.", {}),
        ("The trachea is midline, lungs show scarring.", {"tracheal deviation": "-", "pulmonary scarring": "+"}),
        ("The lungs show scarring but normal volumes.", {"pulmonary scarring": "+"}),
        ("The lungs show scarring and are clear.", {"pulmonary scarring": "+"}),
        ("Clear and well-expanded lungs.", dict.fromkeys(OPACITIES, "-")),
        ("", {}),
    ],
)  # fmt: skip
def test_what_a_report_says_of_its_findings(text: str, expected: dict[str, str]) -> None:
    assert said(text) == expected


def test_findings_stand_at_their_place_in_the_text() -> None:
    text = "Lungs: No effusion. Heart is enlarged."
    found = findings(text)
    assert found == [
        Finding("pleural effusion", 10, 18, present=False),
        Finding("cardiomegaly", 20, 37, present=True),
    ]
    assert [text[item.start : item.end] for item in found] == ["effusion", "Heart is enlarged"]


def test_a_label_implies_the_wider_finding_when_it_is_there_only() -> None:
    assert labels("Tension pneumothorax.") == {"tension pneumothorax": True, "pneumothorax": True}
    assert labels("No tension pneumothorax.") == {"tension pneumothorax": False}
    assert labels("No tension pneumothorax. Small pneumothorax.") == {
        "tension pneumothorax": False,
        "pneumothorax": True,
    }


def test_what_is_there_on_one_side_is_there() -> None:
    assert labels("Pneumothorax on the left, no pneumothorax on the right.") == {"pneumothorax": True}
    assert labels("No pneumothorax on the left, but a pneumothorax on the right.") == {"pneumothorax": True}


def test_a_long_list_of_parts_is_normal_as_a_whole() -> None:
    text = "Heart size, pulmonary vascularity, hilar structures and mediastinal contours are all normal."
    assert said(text)["cardiomegaly"] == "-"


def test_what_is_left_open_has_no_label() -> None:
    text = "Possible loculated effusion, no pneumothorax."
    assert labels(text) == {"pneumothorax": False}
    assert doubts(text) == {"loculated effusion", "pleural effusion"}
    assert doubts("Effusion. Possible effusion.") == frozenset()


NAMES = st.sampled_from(sorted(finding_entries()))


@given(NAMES)
def test_each_finding_is_found_by_name_and_ruled_out_by_no(name: str) -> None:
    assert labels(f"There is {name}.").get(name) is True
    assert labels(f"No evidence of {name}.").get(name) is False
    assert labels(f"{name.capitalize()} cannot be excluded.").get(name) is None


@given(NAMES, st.data())
def test_each_variant_is_found(name: str, data: st.DataObject) -> None:
    variant = data.draw(st.sampled_from(finding_entries()[name].variants))
    found = labels(f"There is {variant}.")
    assert found.get(name) is True, (name, variant, found)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_a_list_after_no_is_ruled_out_whole(names: list[str]) -> None:
    found = labels(f"No {', '.join(names)}, or {names[0]}.")
    assert not any(found.values())
    assert set(names) <= found.keys()


@given(st.text(max_size=200))
def test_any_text_has_findings_within_it(text: str) -> None:
    for item in findings(text):
        assert 0 <= item.start < item.end <= len(text)
        assert item.name in finding_entries()


def test_a_long_report_takes_no_time() -> None:
    text = "No effusion, pneumothorax or consolidation and stable scarring in the left lung base " * 300
    began = time.process_time()
    assert findings(text)
    assert time.process_time() - began < 5


def test_the_lexicon_is_whole() -> None:
    found = finding_entries()
    assert len(found) >= 130
    assert all(concept.parent in found for concept in found.values() if concept.parent)
    assert all(family(name) not in ancestors(family(name)) for name in found)
    variants = [variant for concept in found.values() for variant in concept.variants]
    assert sorted(variants) == sorted(set(variants)), {item for item in variants if variants.count(item) > 1}
    plain = [row for row in rows("findings") if not row[0].startswith(":")]
    assert {len(row) for row in plain} == {4}
    assert len(plain) == len(found)

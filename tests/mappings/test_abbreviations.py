from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.abbreviations import defined, expansions
from mappings.analysis.lexicon import rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We studied myocardial infarction (MI) in men.", {"MI": "myocardial infarction"}),
        ("The randomised controlled trial (RCT; n = 5) ended.", {"RCT": "randomised controlled trial"}),
        ("Heat shock protein 70 (HSP70) rose.", {"HSP70": "Heat shock protein 70"}),
        ("COPD (chronic obstructive pulmonary disease) is common.", {"COPD": "chronic obstructive pulmonary disease"}),
        ("magnetic resonance imaging (MRI) and computed tomography (CT)", {"MRI": "magnetic resonance imaging", "CT": "computed tomography"}),
        ("estimated glomerular filtration rate (eGFR)", {"eGFR": "estimated glomerular filtration rate"}),
        ("tumour necrosis factor-alpha (TNF-alpha)", {"TNF-alpha": "tumour necrosis factor-alpha"}),
        ("Sixty patients (20 men). The mean (SD) was 3 (95% CI).", {}),
        ("It fell (Figure 2) in mice (see above).", {}),
        ("no match here (XYZ)", {}),
        ("first heart rate (HR) then hazard ratio (HR)", {"HR": "heart rate"}),
    ],
)  # fmt: skip
def test_definitions_inside_a_document(text: str, expected: dict[str, str]) -> None:
    assert defined(text) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["MI", "in", "women"], [("MI", "myocardial infarction")]),
        (["mi"], [("MI", "myocardial infarction")]),
        (["shortness", "of", "breath"], [("SOB", "shortness of breath")]),
        (["urinary", "tract", "infections"], [("UTI", "urinary tract infection")]),
        (["HR"], [("HR", "heart rate"), ("HR", "hazard ratio")]),
        (["all", "of", "us", "or", "who"], []),
        (["odds", "ratio"], []),
        (["ALL"], [("ALL", "acute lymphoblastic leukemia")]),
        (["GLP-1", "agonists"], [("GLP-1", "glucagon like peptide 1")]),
        (["type", "2", "diabetes", "mellitus"], [("T2DM", "type 2 diabetes mellitus")]),
        (["anti-TNF", "HIV-positive"], [("TNF", "tumor necrosis factor"), ("HIV", "human immunodeficiency virus")]),
        (["G-CSF"], [("G-CSF", "granulocyte colony stimulating factor")]),
        (
            ["eGFR", "EGFR"],
            [("eGFR", "estimated glomerular filtration rate"), ("EGFR", "epidermal growth factor receptor")],
        ),
        (["X-CSF"], []),
        (["NSAIDs"], [("NSAID", "nonsteroidal anti-inflammatory drug")]),
        (["randomised", "controlled", "trials"], [("RCT", "randomized controlled trial")]),
        (["pt", "PT"], [("pt", "patient"), ("PT", "physical therapy"), ("PT", "prothrombin time")]),
        (["fever"], []),
        ([], []),
    ],
)
def test_the_dictionary_both_ways(words: list[str], expected: list[tuple[str, str]]) -> None:
    assert expansions(words) == expected


def test_the_dictionary_is_large_and_well_formed() -> None:
    found = rows("abbreviations")
    assert len(found) >= 350
    assert len(set(found)) == len(found)
    for short, long, *mark in found:
        assert 1 < len(short) <= 10
        assert len(long) > len(short)
        assert mark in ([], ["case"])


@given(st.text(alphabet="aA1 ()-.,"))
@settings(max_examples=100, deadline=None)
def test_a_definition_is_in_the_text(text: str) -> None:
    squeezed = " ".join(text.split())
    for short, long in defined(text).items():
        assert short in text
        assert " ".join(long.split()) in squeezed


@pytest.mark.parametrize("unit", ["(", "(A)", "a (AB) ", "(A B)", "a"])
def test_long_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    defined(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 5

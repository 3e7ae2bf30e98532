"""What is remarked beside a claim, and how two claims in one are told apart."""

import pytest

from mappings.claims.remarks import number_without_unit, parts_of, remarks_on


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        (
            "Coffee prevents cancer and lowers blood pressure.",
            ("Coffee prevents cancer", "Coffee lowers blood pressure"),
        ),
        (
            "Aspirin prevents stroke and ibuprofen causes bleeding",
            ("Aspirin prevents stroke", "Ibuprofen causes bleeding"),
        ),
        ("Statins reduced deaths but increased diabetes", ("Statins reduced deaths", "Statins increased diabetes")),
        ("Ivermectin cures flu and may prevent malaria", ("Ivermectin cures flu", "Ivermectin may prevent malaria")),
        (
            "Masks slow the virus, while gloves increase its spread",
            ("Masks slow the virus", "Gloves increase its spread"),
        ),
    ],
)
def test_two_claims_in_one_are_split(claim, parts):
    assert parts_of(claim) == parts


@pytest.mark.parametrize(
    "claim",
    [
        "Coffee reduces the risk of cancer and heart disease",
        "Vitamin D and calcium reduce fractures",
        "Smoking causes cancer and increased mortality",
        "Exercise reduces falls and fractures caused by ice",
        "Salt and pepper",
        "An antibody that can prevent and treat malaria",
        "Masks slow the virus and, if all wear them, prevent waves of infection",
        "Studies found that masks increase the risk and the illness it causes, which few expected, reduce trust",
        "and and and",
        "",
    ],
)
def test_one_claim_about_two_things_is_one(claim):
    assert parts_of(claim) == ()


@pytest.mark.parametrize(
    ("claim", "number"),
    [
        ("Risk rises by 30", "30"),
        ("It cuts deaths by 40.", "40"),
        ("Coffee lowers risk by 12.5 in adults", "12.5"),
        ("Deaths rose to 1,300.", "1,300"),
    ],
)
def test_a_number_that_counts_nothing_is_named(claim, number):
    assert number_without_unit(claim) == number


@pytest.mark.parametrize(
    "claim",
    [
        "COVID-19 kills",
        "Type 2 diabetes is rising",
        "It has fallen since 2019",
        "1 in 5 adults smoke",
        "5 eggs a day",
        "It fell from 10 to 5 mg",
        "Risk is 30% higher",
        "Adults aged 65 and over",
        "It costs $30",
        "Vitamin B12 helps",
        "Omega 3 and the heart",
        "Walking 10,000 steps",
        "20-30 minutes a day",
        "It fell until March 16",
        "Adults of 85 and older die of it",
        "Men older than 20",
        "No number",
    ],
)
def test_a_number_with_a_unit_or_in_a_name_is_left_alone(claim):
    assert number_without_unit(claim) == ""


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("Does coffee prevent cancer?", "a question"),
        ("I think coffee prevents cancer", "what somebody thinks"),
        ("Doctors should prescribe coffee", "should be done"),
        ("Coffee prevents Mondays lol", "a joke"),
        ("Coffee", "says nothing of it"),
        ("Coffee prevents cancer and lowers blood pressure", "two claims in one"),
        ("Coffee cuts risk by 30", "“30” has no unit"),
        ("Coffee cuts risk " * 40, "more than 600 characters"),
    ],
)
def test_each_weakness_of_a_claim_is_remarked_in_words(claim, words):
    assert any(words in item.text for item in remarks_on(claim))


@pytest.mark.parametrize("claim", ["Coffee cuts the risk of stroke by 20 percent", "咖啡能降低中风的风险"])
def test_a_plain_claim_has_no_remark(claim):
    assert remarks_on(claim) == []


def test_a_long_claim_is_not_taken_apart():
    assert [item.text[:24] for item in remarks_on("Aspirin reduces 5 and causes 6. " * 300)] == [
        "This has more than 600 c"
    ]

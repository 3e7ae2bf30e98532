"""Names that patients and newspapers use, and brand names, belong to the concept that they mean; ambiguous ones to none."""

import pytest

from mappings.clinical.concepts import shipped_concepts
from mappings.clinical.reading import shipped_reader

CONCEPTS = shipped_concepts()


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("widowmaker", "myocardial infarction"),
        ("economy class syndrome", "deep vein thrombosis"),
        ("broken heart syndrome", "takotsubo cardiomyopathy"),
        ("mini-stroke", "transient ischemic attack"),
        ("smoker's lung", "chronic obstructive pulmonary disease"),
        ("waterworks infection", "urinary tract infection"),
        ("underactive thyroid", "hypothyroidism"),
        ("lazy eye", "amblyopia"),
        ("tennis elbow", "lateral epicondylitis"),
        ("flesh-eating bug", "necrotizing fasciitis"),
        ("cot death", "sudden infant death syndrome"),
        ("bird flu", "avian influenza"),
        ("skinny jab", "GLP-1 receptor agonist"),
        ("beta-blocker drug", "beta blocker"),
        ("hay fever tablet", "antihistamine"),
        ("Covid jab", "COVID-19 vaccine"),
        ("stomach stapling", "bariatric surgery"),
        ("male sterilization", "vasectomy"),
        ("tubes tied", "tubal ligation"),
        ("nose job", "rhinoplasty"),
        ("test tube baby", "in vitro fertilization"),
        ("Panadol", "acetaminophen"),
        ("Doliprane", "acetaminophen"),
        ("Efexor", "venlafaxine"),
        ("Madopar", "benserazide and levodopa"),
        ("Keytruda", "pembrolizumab"),
    ],
)
def test_a_lay_name_means_its_concept(name, concept):
    found = CONCEPTS.named(name)
    assert found is not None
    assert found.name == concept


@pytest.mark.parametrize(
    "word", ["cold", "sugar", "shot", "attack", "pressure", "secondary", "bug", "pile", "lockdown"]
)
def test_an_everyday_word_alone_names_nothing(word):
    assert CONCEPTS.named(word) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Renal failure secondary to dehydration.",
        "The scope was pulled back slowly.",
        "LV function is severely depressed.",
        "A nit-occlude coil was advanced.",
        "Please keep the wound clean and dry.",
    ],
)
def test_words_of_notes_are_not_taken_for_lay_names(sentence):
    wrong = {"metastasis", "lumbosacral-strain", "depression", "head-lice", "debridement"}
    assert wrong.isdisjoint(item.concept for item in shipped_reader().read_alone(sentence))

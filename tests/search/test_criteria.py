"""Criteria that are read from `with`, `without` and free text."""

from __future__ import annotations

import pytest

from mappings.bundles import TermBundle
from mappings.clinical.reading import shipped_reader
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.query import NoneOf, Query, Terms
from search.understanding.understand import Understanding, understand

READER = shipped_reader()
EVERYBODY = Access("u", frozenset({"*"}))
SAID = ("present", "historical", "uncertain", "ruled-out", "family")


def read(text: str = "", reads_text: bool = True, **slots) -> Understanding:
    return understand(Query("notes", EVERYBODY, text=text, **slots), {}, READER, reads_text)


def asked(found: Understanding) -> list[tuple[str, str, str]]:
    return [(item.concept, item.assertion, item.source) for item in found.criteria]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pneumonia without effusion", [("pneumonia", "present"), ("effusion", "not-present")]),
        ("no evidence of pulmonary embolism", [("pulmonary-embolism", "ruled-out")]),
        ("no evidence of PE", [("pulmonary-embolism", "ruled-out")]),
        ("family history of breast cancer", [("breast-cancer", "family")]),
        ("metformin but not insulin", [("metformin", "present"), ("insulin", "not-present")]),
        ("on metformin but not insulin", [("metformin", "present"), ("insulin", "not-present")]),
        ("history of stroke", [("stroke", "historical")]),
    ],
)
def test_a_free_text_that_says_what_is_absent_past_or_a_relatives_is_read(text, expected):
    assert asked(read(text)) == [(concept, assertion, "text") for concept, assertion in expected]


@pytest.mark.parametrize(
    "text",
    [
        "pneumonia",
        "treatment of asthma in adults",
        "is there a pneumonia without effusion?",
        "possible pneumonia",
        "the patient came with cough and fever for three days and an X-ray of the chest showed no effusion at all today",
        "no",
        "",
    ],
)
def test_any_other_text_is_searched_by_its_words(text):
    found = read(text, entity="asthma")
    assert found.criteria == ()
    assert not found.lexical.everything


def test_plain_and_kinds_whose_queries_are_not_read_leave_the_words_alone():
    assert read("pneumonia without effusion", plain=True).criteria == ()
    assert read("pneumonia without effusion", reads_text=False).criteria == ()


def test_with_and_without_become_filters_and_rank_what_proves_them():
    found = read(having=("NSAIDs",), lacking=("fever",))
    assert asked(found) == [("nsaid", "present", "with"), ("fever", "not-present", "without")]
    assert found.filters == (
        Terms("asserted", ("nsaid|present", "nsaid|uncertain")),
        NoneOf("asserted", ("fever|present",)),
    )
    assert [(name, value) for name, value, _ in found.lexical.keywords] == [
        ("proves", "nsaid|present"),
        ("proves", "nsaid|found"),
        ("proves", "nsaid|uncertain"),
        ("proves", "fever|ruled-out"),
        ("proves", "fever|narrower-ruled-out"),
    ]
    assert found.lexical.everything


def test_without_can_mean_ruled_out():
    found = read(having=("pneumonia",), lacking=("effusion",), absence="ruled-out")
    assert found.filters[1] == Terms("asserted", ("effusion|ruled-out", "effusion|narrower-ruled-out"))


def test_an_operation_is_had_by_having_been_done():
    found = read(having=("appendectomy",))
    assert found.filters == (
        Terms("asserted", ("appendectomy|present", "appendectomy|historical", "appendectomy|uncertain")),
    )
    assert [found.criteria[0].doubt("appendectomy", said, READER.lexicon) for said in SAID] == [0, 0, 1, None, None]
    lacking = read(having=("fever",), lacking=("appendectomy",))
    assert lacking.filters[1] == NoneOf("asserted", ("appendectomy|present", "appendectomy|historical"))
    [past] = read(having=("history of appendectomy",)).criteria
    assert past.keys == ("appendectomy|historical",)


def test_a_disease_that_is_over_is_not_had():
    [present] = read(having=("pneumonia",)).criteria
    assert [present.doubt("pneumonia", said, READER.lexicon) for said in SAID] == [0, None, 1, None, None]


def test_what_denies_a_criterion_is_the_opposite_of_the_concept_itself():
    [present] = read(having=("effusion",)).criteria
    [ruled_out] = read(having=("fever",), lacking=("effusion",), absence="ruled-out").criteria[1:]
    [past] = read(having=("history of pneumonia",)).criteria
    said = [("effusion", "ruled-out"), ("effusion", "uncertain"), ("effusion", "present"), ("fever", "ruled-out")]
    assert [present.denies([item], READER.lexicon) for item in said] == [True, True, False, False]
    assert [ruled_out.denies([item], READER.lexicon) for item in said] == [False, True, True, False]
    assert not past.denies([("pneumonia", "ruled-out")], READER.lexicon)
    # Who rules out a large effusion leaves a small one.
    assert not present.denies([("large-pleural-effusion", "ruled-out")], READER.lexicon)
    assert ruled_out.denies([("large-pleural-effusion", "present")], READER.lexicon)


def test_a_slot_can_say_what_is_asserted():
    assert asked(read(having=("family history of diabetes", "history of stroke"))) == [
        ("diabetes-mellitus", "family", "with"),
        ("stroke", "historical", "with"),
    ]


def test_an_unknown_word_is_searched_and_said():
    found = read(having=("frobnication",))
    assert found.criteria == ()
    assert found.notes == ("“frobnication” names no concept of the lexicon: it was searched as words",)
    assert [term for term, _ in found.lexical.terms] == ["frobnic"]


def test_contradicting_criteria_are_said():
    found = read(having=("fever",), lacking=("pyrexia",))
    assert found.notes == ("“fever” is asked for both with and without: no document can be both",)


def test_only_what_is_lacking_is_a_query_too():
    assert asked(read(lacking=("fever",))) == [("fever", "not-present", "without")]
    with pytest.raises(InvalidInput):
        Query("notes", EVERYBODY, lacking=(" ",))
    with pytest.raises(InvalidInput):
        Query("notes", EVERYBODY, lacking=("fever",), absence="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize("assertion", ["present", "ruled-out", "uncertain", "hypothetical", "historical", "family"])
def test_a_finding_can_say_what_documents_must_assert_of_it(assertion):
    found = read(having=(f"{assertion}: pleural effusion",))
    assert asked(found) == [("pleural-effusion", assertion, "with")]
    assert found.model_text == "pleural effusion"


def test_a_stated_finding_without_a_concept_is_searched_as_words():
    found = read(having=("ruled-out:zorblax", "since:2019"))
    assert (found.criteria, found.unknown) == ((), ("ruled-out:zorblax", "since:2019"))
    assert found.model_text == "zorblax since:2019"


def test_the_text_does_not_ask_again_for_what_a_finding_asks():
    found = read("pneumonia without effusion", having=("pneumonia",))
    assert asked(found) == [("pneumonia", "present", "with"), ("effusion", "not-present", "text")]


THINNERS = TermBundle("0123456789abcdef", "thinners", ("warfarin", "Eliquis", "appendectomy"))
MEANT = ("warfarin", "apixaban", "appendectomy")


def bundled(text: str = "", **slots) -> Understanding:
    return read(text, bundles=(("thinners", THINNERS), ("odd", TermBundle("1", "odd", ("warfarinn",)))), **slots)


def test_a_bundle_is_one_criterion_that_any_of_its_concepts_proves():
    found = bundled(having=("bundle:thinners",))
    (criterion,) = found.criteria
    assert (criterion.name, criterion.concept, criterion.concepts) == ("thinners", "", MEANT)
    assert found.filters == (
        Terms(
            "asserted",
            (
                *(f"{concept}|present" for concept in MEANT),
                "appendectomy|historical",
                *(f"{concept}|uncertain" for concept in MEANT),
            ),
        ),
    )
    assert len(found.lexical.keywords) == 10
    assert [criterion.doubt("apixaban", said, READER.lexicon) for said in SAID] == [0, None, 1, None, None]
    assert [criterion.doubt("appendectomy", said, READER.lexicon) for said in SAID] == [0, 0, 1, None, None]
    assert (found.model_text, found.notes) == ("warfarin Eliquis appendectomy", ())


def test_without_a_bundle_a_document_has_none_of_it():
    found = bundled(having=("fever",), lacking=("bundle:thinners",))
    assert found.filters[1] == NoneOf(
        "asserted", (*(f"{concept}|present" for concept in MEANT), "appendectomy|historical")
    )
    assert found.model_text == "fever no warfarin no Eliquis no appendectomy"
    strict = bundled(having=("fever",), lacking=("bundle:thinners",), absence="ruled-out")
    assert strict.filters[1].values[:3] == tuple(f"{concept}|ruled-out" for concept in MEANT)


def test_a_bundle_can_be_asked_for_with_another_assertion():
    (criterion,) = bundled(having=("family:bundle:thinners",)).criteria
    assert criterion.keys == tuple(f"{concept}|family" for concept in MEANT)


def test_one_of_a_bundle_is_not_denied_by_another():
    (criterion,) = bundled(having=("bundle:thinners",)).criteria
    said = [("apixaban", "present"), ("warfarin", "ruled-out")]
    assert not criterion.denies(said, READER.lexicon)
    assert criterion.denies([*said, ("apixaban", "uncertain")], READER.lexicon)


def test_a_bundle_and_one_of_its_concepts_contradict_each_other_one_way():
    assert bundled(having=("warfarin",), lacking=("bundle:thinners",)).notes == (
        "“warfarin” is asked for both with and without: no document can be both",
    )
    assert bundled(having=("bundle:thinners",), lacking=("warfarin",)).notes == ()


def test_a_bundle_that_can_not_be_searched_is_an_error_of_its_slot():
    with pytest.raises(
        InvalidInput, match=r"the term 'warfarinn' of the bundle 'odd'.*did you mean warfarin"
    ) as caught:
        bundled(having=("fever",), lacking=("bundle:odd",))
    assert caught.value.field == "without"
    names = tuple(item.id for item in READER.lexicon)
    long = tuple((str(start), TermBundle("1", "x", names[start : start + 70])) for start in (0, 70))
    with pytest.raises(InvalidInput, match="the bundles of this search have 140 concepts; at most 120"):
        read(having=("bundle:0", "bundle:70"), bundles=long)


def test_documents_that_are_not_read_are_searched_for_the_terms_of_a_bundle():
    query = Query("notes", EVERYBODY, having=("bundle:thinners",), bundles=(("thinners", THINNERS),))
    found = understand(query)
    assert found.model_text == "warfarin Eliquis appendectomy"
    assert found.notes == ("the documents of this index were not read: findings are searched as words, not as filters",)


def test_what_proves_a_criterion_weighs_by_how_sure_it_is():
    found = read(having=("NSAIDs",), lacking=("fever",), absence="ruled-out").lexical.keywords
    weights = {value: weight for _, value, weight in found}
    assert weights["nsaid|present"] > weights["nsaid|found"] > weights["nsaid|uncertain"] > 0
    assert weights["fever|ruled-out"] > weights["fever|narrower-ruled-out"] > 0
    assert weights["nsaid|present"] >= 20  # more than any score by words


def test_a_term_of_a_bundle_counts_as_the_surest_of_them():
    bundle = TermBundle("1", "b", ("effusion", "large pleural effusion"))
    [found] = read(having=("ruled-out:bundle:b",), bundles=(("b", bundle),)).criteria
    assert found.doubt("large-pleural-effusion", "ruled-out", READER.lexicon) == 0


def test_a_text_of_sixteen_words_is_read_and_a_longer_one_is_not():
    text = "pneumonia without effusion" + " seen" * 13
    assert len(text.split()) == 16
    assert asked(read(text)) != []
    assert asked(read(f"{text} seen")) == []


def test_a_bundle_has_up_to_120_terms():
    names = tuple(item.id for item in READER.lexicon)[:120]
    [found] = read(having=("bundle:x",), bundles=(("x", TermBundle("1", "x", names)),)).criteria
    assert len(found.concepts) == 120

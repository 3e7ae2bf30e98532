"""Which sentences make claims: both ways, on sentences written for these tests."""

import pytest

from mappings.claims.check_worthy import MOST_PROPOSED, MOST_SELECTED, is_question, judge, proposed_claims
from mappings.claims.medical_names import medical_names

KNOWN = ("stroke", "aspirin", "dementia", "diabetes", "cancer", "blood pressure")


def names(sentence):
    """Medical names as a small lexicon knows them, so that these tests are of the rules alone."""
    return [name for name in KNOWN if name in sentence.lower()]


def score(sentence):
    return judge(sentence, names)[0]


CLAIMS = [
    "Coffee cuts the risk of stroke by 20 percent.",
    "People who sleep less than six hours have a higher risk of dementia.",
    "Aspirin is no better than placebo at preventing a first stroke.",
    "Half of adults over 40 have high blood pressure.",
    "Garlic lowers blood pressure.",
    "The vaccine does not cause cancer in mice or people.",
    "Diabetes is linked to earlier dementia, a review of 12 studies found.",
    "“Aspirin cuts the risk of stroke,” said Dr Jones.",
    "Women who took the pill were twice as likely to have a stroke.",
    "One in five patients with diabetes had side effects.",
    "The coronavirus can spread through the air in closed rooms.",
    "Deaths from diabetes fell by a third.",
    "Old people are most susceptible to the virus.",
]
NO_CLAIMS = [
    "Does coffee cut the risk of stroke?",
    "We believe that coffee prevents cancer.",
    "In my opinion, aspirin prevents more cancer than it causes.",
    "Doctors should treat high blood pressure earlier.",
    "It's time to cut the risk of diabetes for good.",
    "“It is very exciting news for all of us,” said Dr Jane Smith.",
    "The hospital opened in 1995 with 200 beds.",
    "The minister visited the stroke ward on Tuesday.",
    "More research is needed to prove that walking prevents dementia.",
    "The trial will test whether aspirin prevents cancer.",
    "Vaccines cause cancer, said no one ever.",
    "Broccoli cures cancer lol, who knew.",
    "Sign up for our newsletter about the risk of diabetes.",
    "Read more: ten foods that prevent cancer",
    "Photo: a woman who is at risk of stroke",
    "Cancer risk",
    "The bank opened a branch beside the museum in spring.",
    "She lives in a small town with her two dogs.",
    "The patients were moved to another ward on Friday.",
    "",
]


@pytest.mark.parametrize("sentence", CLAIMS)
def test_a_sentence_that_asserts_something_is_a_claim(sentence):
    found = proposed_claims(f"Last week was sunny. {sentence} Everyone went home.", names)
    assert [item.text for item in found] == [sentence]
    assert found[0].reasons


@pytest.mark.parametrize("sentence", NO_CLAIMS)
def test_a_sentence_that_asserts_nothing_is_no_claim(sentence):
    assert proposed_claims(sentence, names) == []


def test_reasons_say_what_was_seen():
    assert judge("A study found that coffee cuts the risk of stroke by 20 percent.", names)[1] == (
        "an effect (cuts)",
        "a number with its unit",
        "a medical name (stroke)",
        "what a study found",
    )
    assert "a comparison" in judge("Aspirin is more effective than placebo.", names)[1]
    assert "a number" in judge("The 2019 rules cut the number of strokes.", names)[1]


@pytest.mark.parametrize("opening", ["It also", "They", "This", "The drug", "“It", "But the treatment"])
def test_a_sentence_about_something_named_before_ranks_lower(opening):
    assert 0 < score(f"{opening} reduces blood pressure by 10 mmHg") < score("Garlic reduces blood pressure by 10 mmHg")


def test_an_anecdote_and_an_endless_sentence_rank_lower():
    assert score("My aspirin cut the risk of stroke") < score("Some aspirin cut the risk of stroke")
    assert score("A type I drug cut the risk of stroke") == score("A type A drug cut the risk of stroke")
    assert score("Aspirin cuts the risk of stroke" + " in many people" * 15) < score("Aspirin cuts the risk of stroke")
    assert score("Aspirin cuts the risk of stroke" + " in many people" * 50) == 0


@pytest.mark.parametrize("text", ["Is it?", "Is it? ", "“Is it?”", "真的吗？", "هل هذا صحيح؟", "Really?!"])
def test_questions_end_with_the_mark_of_their_script(text):
    assert is_question(text)


def test_the_best_claims_are_selected_in_the_order_of_the_text():
    weak = [f"Food number {letter} may affect people in some way." for letter in "abcdefg"]
    strong = [f"Food {letter} cuts the risk of stroke by 20 percent." for letter in "uvw"]
    found = proposed_claims(" ".join((*weak, *strong, strong[0])), names)
    assert [item.text for item in found if item.selected][-3:] == strong
    assert sum(item.selected for item in found) <= MOST_SELECTED
    assert [item.start for item in found] == sorted(item.start for item in found)
    assert len({item.text for item in found}) == len(found)


def test_an_article_without_end_is_cut_to_its_best_claims():
    text = " ".join(f"Food {number} cuts the risk of stroke by {number} percent." for number in range(200))
    assert len(proposed_claims(text, names)) == MOST_PROPOSED


@pytest.mark.parametrize(
    "text",
    ["咖啡能降低中风的风险百分之二十。", "القهوة تقلل من خطر السكتة الدماغية بنسبة 20٪.", "   \n\n ", "1234 5678"],
)
def test_other_scripts_and_nothing_make_no_claims_and_no_error(text):
    assert proposed_claims(text, names) == []


def test_the_lexicon_of_concepts_names_what_a_sentence_mentions():
    assert medical_names("Metformin helps adults with type 2 diabetes") == ["Metformin", "type 2 diabetes"]

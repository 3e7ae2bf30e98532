"""The forms of abstracts: the rules that word them, the abstracts that are chosen, and that no training sees them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from encoders.labels.evaluated import read_judged_data
from encoders.labels.pairs import Pair, Text
from encoders.labels.sieve import Sieve
from encoders.labels.split import is_test_abstract
from encoders.labels.tasks import abstracts, forms
from encoders.labels.tasks.form_rules import ask_objective, ask_plainly, ask_title, choose_terms, negate

BODY = "Otters were counted at dawn by wardens who knew the river well. " * 4


@pytest.mark.parametrize(
    ("claim", "opposite"),
    [
        ("Otters are rarer in cold rivers", "Otters are not rarer in cold rivers"),
        ("Cold water did not harm otters", "Cold water did harm otters"),
        ("There is no link of cold and harm", "There is link of cold and harm"),
        ("Fish oil significantly reduces itching", "Fish oil does not significantly reduce itching"),
        ("Fish oil prevented itching", "Fish oil did not prevent itching"),
        ("Otters who were fed at noon improved", "Otters who were fed at noon did not improve"),
        ("Salt can be given", "Salt can not be given"),
    ],
)
def test_a_claim_is_denied_at_its_first_verb(claim, opposite):
    assert negate(claim) == opposite


@pytest.mark.parametrize("claim", ["Neither salt nor oil is useful", "Otters without fish are ill", "A need for fish"])
def test_what_denies_in_another_way_or_has_no_verb_is_left_alone(claim):
    assert negate(claim) == ""


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Effects of Salt on otters: a trial", "Can salt affect otters?"),
        ("The efficacy and safety of fish oil in itching", "Is there a benefit of fish oil in itching?"),
        ("Comparison of the efficacy of salt with sugar", "Which is better, salt or sugar?"),
        ("Association between salt and gout", "Is there a connection of salt and gout?"),
        ("Risk factors for gout", "What raises the risk of gout?"),
        ("Prevalence of gout among wardens - a survey", "How often is there gout among wardens?"),
        ("Treatment of gout with salt", "Can salt be used against gout?"),
        ("Salt in the treatment of gout", "Can salt be used against gout?"),
        ("Salt for the prevention of gout", "Can salt prevent gout?"),
        ("NSAIDs versus salt", "Which is better, NSAIDs or salt?"),
        ("Otters in winter", ""),
    ],
)
def test_a_title_of_a_known_shape_is_a_question(title, question):
    assert ask_title(title) == question


def test_an_objective_is_a_question_that_can_be_read_alone():
    assert (
        ask_objective("We aimed to assess whether salt harms otters. More.") == "Is it known whether salt harms otters?"
    )
    assert ask_objective("We studied the effect of salt on otters.") == ""  # no verb that tells what was wanted
    assert ask_objective("To evaluate the effects of salt on otters; then") == "Can salt affect otters?"
    assert ask_objective("To test whether these things hold.") == ""
    assert ask_objective(f"To test whether {'salt and ' * 40} oil differ.") == ""


def test_any_other_title_is_asked_plainly():
    assert ask_plainly("A systematic review of otters in winter: a tale") == "What is known about otters in winter?"
    assert ask_plainly("Salt is good for otters") == "Is it true that salt is good for otters?"
    for title in ("Is salt good", "Salt: good for otters?"):
        assert ask_plainly(title) == ""


def test_the_rarest_words_of_a_title_stand_in_its_order():
    frequency = {"effect": 90, "salt": 5, "young": 3, "otters": 2, "winter": 4}
    assert choose_terms("Effect of salt on young otters in winter", frequency) == "salt young otters winter"
    assert choose_terms("Otters", frequency) == ""


def record(name: str, title: str, conclusion: str) -> dict[str, object]:
    sections = [("Aim", "To know."), ("Methods", BODY), ("Conclusions", f"{conclusion}. More was said.")]
    labelled = [{"label": label, "text": text} for label, text in sections]
    return {"doc_id": name, "title": title, "sections": labelled}


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Three abstracts for evaluation, of which two can be asked for, a twin of one of them, and one for training."""
    test = [f"p:{n}" for n in range(200) if is_test_abstract(f"p:{n}")][:4]
    train = next(f"p:{n}" for n in range(200) if not is_test_abstract(f"p:{n}"))
    records = [
        record(test[0], "Salt as food of otters in winter.", "Salt is a good food for otters in cold water"),
        record(test[1], "Effects of moonlight on beavers", "Moonlight was of use to beavers in every single night"),
        record(test[2], "Silent wardens of the river bank", "A study of wardens without any salient verb in it"),
        record(test[3], "Salt as food of otters in winter [Review]", "Salt is a food"),
        record(train, "Fish oil for the itching of otters", "Fish oil is better than nothing for itching otters"),
    ]
    (tmp_path / "abstracts").mkdir()
    text = "\n".join(map(json.dumps, records))
    (tmp_path / "abstracts/abstracts.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_an_abstract_of_which_every_form_is_made_is_asked_for_and_its_conclusion_taken_out(pool):
    formed = {item.title: item for item in forms.read_formed_abstracts(pool)}
    assert len(formed) == 3  # without the twin and the one for training
    salt = formed["Salt as food of otters in winter."]
    assert salt.forms == {
        "title": "Salt as food of otters in winter",
        "key terms": "salt food otters winter",
        "conclusion": "Salt is a good food for otters in cold water",
        "negated conclusion": "Salt is not a good food for otters in cold water",
        "question": "What is known about salt as food of otters in winter?",
    }
    assert "good food" not in salt.text
    other = formed["Silent wardens of the river bank"]
    assert other.forms == {}
    assert "salient verb" in other.text


def test_only_so_many_are_asked_for(pool, monkeypatch):
    monkeypatch.setattr(forms, "ASKED", 1)
    assert sum(bool(item.forms) for item in forms.read_formed_abstracts(pool)) == 1


def test_no_training_sees_them(pool, data):
    judged = [found for found in read_judged_data(pool) if found.suite == "forms"]
    assert len(judged[0].queries) == 10
    sieve = Sieve(judged, Counter())
    for item in forms.read_test_abstracts(pool):
        assert not list(sieve.filter_corpus("abstracts", [abstracts.abstract_text(item)]))
    for query in judged[0].queries:
        pair = Pair("new", "n:1", "g", "train", "new", query, ("t",), Text("t", "", "", "Another text altogether."))
        assert not list(sieve.filter_pairs([pair])), query


def test_the_pool_of_training_has_none_of_them(data):
    dropped: Counter[str] = Counter()
    kept = {item.id for item in abstracts.read_pool(data, dropped)}
    assert not any(map(is_test_abstract, kept))
    assert dropped["abstracts of the twentieth for evaluation"] > 0


def test_what_training_claims_are_about_is_for_training():
    assert not any(is_test_abstract(f"cord:{n}") for n in range(500))
    assert 30 < sum(is_test_abstract(f"pmid:{n}") for n in range(1000)) < 70

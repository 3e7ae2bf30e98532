"""What a matching network reads: rows of words, masks, frequencies, trigrams and sentences; and the recipes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from encoders.training.export.service import export_run
from encoders.training.kinds import load_any_recipe
from encoders.training.matching.recipe import NAMES, MatcherRecipe, parse_matcher_recipe
from encoders.training.recipe import Recipe, Share
from encoders.training.recipe_source import RECIPES
from mappings.errors import InvalidInput

RECIPE = MatcherRecipe("test", "drmm", {"slots": Share()})


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_a_recipe_that_shows_texts_alone(name: str) -> None:
    recipe = load_any_recipe(f"matcher-{name}")
    assert isinstance(recipe, MatcherRecipe)
    assert (recipe.model, recipe.kind, recipe.name) == (name, "matcher", f"matcher-{name}")
    assert {share.context for share in recipe.tasks.values()} == {0.0}
    assert parse_matcher_recipe(recipe.as_json(), "other") == recipe


def test_recipes_of_other_kinds_are_theirs() -> None:
    assert isinstance(load_any_recipe("capr-bi"), Recipe)
    assert {path.stem for path in RECIPES.glob("matcher-*.toml")} == {f"matcher-{name}" for name in NAMES}


@pytest.mark.parametrize(
    ("recipe", "said"), [("matcher-har", "--systems"), ("cdv-fasttext", "into the folder `model` of the run")]
)
def test_a_run_that_is_not_exported_says_where_its_model_is(tmp_path: Path, recipe: str, said: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    report = {"recipe": load_any_recipe(recipe).as_json(), "pairs": {}, "data": {}, "steps": 1, "best_step": 1}
    (run / "report.json").write_bytes(orjson.dumps({**report, "held_out": {}}))
    with pytest.raises(InvalidInput, match=said):
        export_run(run, tmp_path, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_setting_is_changed_by_name() -> None:
    changed = load_any_recipe("matcher-har", ["words=words.npz", "units=8", "model=drmm"])
    assert changed == replace(load_any_recipe("matcher-har"), words="words.npz", units=8, model="drmm")


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"model": "bert"}, "model", "model is 'bert'; it must be one of arc-i, arc-ii"),
        ({"model": ["har"]}, "model", "it must be one of"),
        ({"kind": "bi-encoder"}, "kind", "kind is 'bi-encoder'; it must be one of matcher"),
        ({"device": "tpu"}, "device", "it must be one of auto, cpu, cuda"),
        ({"tasks": {}}, "tasks", "at least one task"),
        ({"words": 3}, "words", "it must be a string"),
        ({"adapt": 1}, "adapt", "adapt is 1; it must be true or false"),
        ({"dropout": 1}, "dropout", "leaves nothing"),
        ({"dropout": 1.5}, "dropout", "between 0 and 1"),
        ({"units": 0}, "units", "at least 1"),
        ({"others": -1}, "others", "at least 0"),
        ({"negatives": 0}, "negatives", "at least 1"),
        ({"max_query": 3}, "max_query", "at least 4"),
        ({"max_passage": 100.5}, "max_passage", "an integer"),
        ({"learning_rate": 0}, "learning_rate", "greater than 0"),
        ({"patience": 2}, "patience", "patience needs evaluate_every"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        replace(RECIPE, **changes)
    assert caught.value.field == field


def test_an_unknown_or_missing_setting_is_named() -> None:
    with pytest.raises(InvalidInput, match="the recipe setting 'unitz' is unknown") as caught:
        load_any_recipe("matcher-har", ["unitz=3"])
    assert caught.value.field == "unitz"
    with pytest.raises(InvalidInput, match="missing the setting 'model'"):
        parse_matcher_recipe({"kind": "matcher", "tasks": {"slots": {}}}, "mine")
    with pytest.raises(InvalidInput, match="slots is 3; it must be a table"):
        parse_matcher_recipe({"kind": "matcher", "model": "har", "tasks": {"slots": 3}}, "mine")


@pytest.fixture
def inputs() -> Any:
    pytest.importorskip("torch", reason="the train extra is not installed")
    from encoders.training.matching import inputs

    return inputs


@pytest.mark.torch
def test_words_become_vectors_of_one_length_with_masks_and_exact_matches(inputs: Any) -> None:
    from tiny_matchers import PASSAGES, QUERIES, make_table, make_vectors

    batch = make_table().batch(QUERIES, PASSAGES)
    assert batch.query_mask.tolist() == [[True] * 2 + [False] * 3, [True] * 5]
    assert batch.passage_mask.sum(1).tolist() == [11, 24]
    vector = make_vectors().lookup(["fever"])[0]
    assert batch.query[0, 0].tolist() == pytest.approx((vector * 4 / np.linalg.norm(vector)).tolist(), rel=1e-5)
    assert not batch.query[0, 2:].any()
    assert not batch.passage[0, 11:].any()
    assert batch.exact[0].nonzero().tolist() == [[0, 2], [1, 0]]  # "Signs of fever.", and padding equals no padding


@pytest.mark.torch
def test_frequencies_are_those_of_distinct_passages(inputs: Any) -> None:
    counted = inputs.Frequencies.count(["the gout", "The old the", "the gout"])
    assert (counted.passages, dict(counted.words)) == (2, {"the": 2, "gout": 1, "old": 1})
    assert counted.idf("the") == 0
    assert counted.idf("gout") == pytest.approx(math.log(3 / 2))
    assert counted.idf("fever") == pytest.approx(math.log(3))


@pytest.mark.torch
def test_idf_is_that_of_the_query_s_words(inputs: Any) -> None:
    from tiny_matchers import make_table

    batch = make_table().batch(["gout the"], ["old"])
    assert batch.idf[0].tolist() == pytest.approx([math.log(3 / 2), 0.0])


@pytest.mark.torch
def test_trigrams_are_hashed_with_the_ends_of_the_word(inputs: Any) -> None:
    from encoders.words.vectors import hash_ngram

    expected = [1 + hash_ngram(part) % inputs.TRIGRAMS for part in (b"#go", b"gou", b"out", b"ut#")]
    assert inputs.hash_trigrams("gout") == expected
    assert inputs.hash_trigrams("a") == [1 + hash_ngram(b"#a#") % inputs.TRIGRAMS]
    assert len(inputs.hash_trigrams("a" * 40)) == inputs.MOST_TRIGRAMS


@pytest.mark.torch
def test_sentences_say_where_their_words_are_and_long_ones_are_read_in_parts(inputs: Any) -> None:
    from tiny_matchers import make_table

    table = make_table()
    batch = table.batch(["gout", "gout"], ["Gout in the old. No cure.", "Cough."])
    assert batch.sentences.tolist() == [[[1, 2, 3, 4], [5, 6, 0, 0]], [[1, 0, 0, 0], [0, 0, 0, 0]]]
    table.most["passage"] = 100
    assert table.encode("gout " * 70, "passage").sentences == (32, 32, 6)


@pytest.mark.torch
def test_texts_are_cut_to_their_limits_and_the_table_grows(inputs: Any) -> None:
    from tiny_matchers import make_table

    table = make_table()
    batch = table.batch([" ".join(f"q{n}" for n in range(9))], [" ".join(f"p{n}" for n in range(90))])
    assert (batch.query.shape, batch.passage.shape) == ((1, 6, 6), (1, 30, 6))
    table.most["passage"] = 3000
    assert table.batch(["gout"], [" ".join(f"w{n}" for n in range(2500))]).passage[0].any(1).all()


@pytest.mark.torch
@pytest.mark.parametrize(("query", "passage", "side"), [("", "gout", "query"), ("gout", " --- ", "passage")])
def test_a_text_without_a_word_is_refused(inputs: Any, query: str, passage: str, side: str) -> None:
    from tiny_matchers import make_table

    with pytest.raises(InvalidInput, match=f"the {side} .* has no word") as caught:
        make_table().batch([query], [passage])
    assert caught.value.field == side


def test_recipes_are_read_without_torch() -> None:
    import subprocess
    import sys

    code = "import sys; from encoders.training.kinds import load_any_recipe; load_any_recipe('matcher-har'); print('torch' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert ran.stdout.strip() == "False"

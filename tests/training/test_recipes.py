from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.pairs import Pair, Text
from encoders.training.data.batches import count_pairs, make_examples, plan_batches, render_text
from encoders.training.kinds import load_any_recipe
from encoders.training.recipe import Recipe, Share, load_recipe, parse_recipe
from encoders.training.recipe_source import RECIPES
from mappings.errors import InvalidInput, NotFound

RECIPE = Recipe(
    "test", "cross-encoder", "listwise", {"a": Share(repeat=2, context=0.5), "b": Share(take=4)}, batch=4, negatives=2
)


def text(name: str) -> Text:
    return Text(name, f"Title {name}", "causes", f"Text of {name}.")


def made(task: str, count: int, negatives: int = 5) -> list[Pair]:
    return [
        Pair(task, f"{task}:{n}", str(n), "train", "c", f"query {task} {n} " + "long " * n, (f"{task}{n}",), text(f"{task}{n}"),
             tuple(text(f"{task}{n}-{m}") for m in range(negatives)))
        for n in range(count)
    ]  # fmt: skip


PAIRS = {"a": made("a", 9), "b": made("b", 30)}


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_recipe_loads(path: Path) -> None:
    assert load_any_recipe(path.stem) == load_any_recipe(path)
    assert load_any_recipe(path.stem).name == path.stem


@pytest.mark.parametrize(
    ("change", "setting", "value"),
    [
        ("steps=900", "steps", 900),
        ("learning_rate = 3e-5", "learning_rate", 3e-5),
        ("base=owner/model", "base", "owner/model"),
        ("base = owner/model", "base", "owner/model"),
        ('base="owner/model"', "base", "owner/model"),
        ("base=~/a = b", "base", "~/a = b"),
        ("frozen=[]", "frozen", ()),
        ("tasks={press={repeat=2}}", "tasks", {"press": Share(repeat=2)}),
    ],
)
def test_a_setting_is_changed_and_no_other(change: str, setting: str, value: Any) -> None:
    before, after = load_recipe("medley-crossencoder"), load_recipe("medley-crossencoder", [change])
    assert after == replace(before, **{setting: value})


def test_of_two_changes_of_a_setting_the_last_counts() -> None:
    assert load_recipe("medley-crossencoder", ["steps=1", "batch=3", "steps=2"]).steps == 2


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ("steps", "set", "'steps' changes no setting: write NAME=VALUE, such as steps=900"),
        ("=3", "set", "'=3' changes no setting"),
        ("stepz=3", "stepz", "the recipe setting 'stepz' is unknown"),
        ("steps=many", "steps", "steps is 'many'; it must be an integer"),
        ("steps=3\nbatch=4", "steps", "steps is '3.nbatch=4'; it must be an integer"),
        ("steps=", "steps", "steps is ''; it must be an integer"),
        ("batch=0", "batch", "batch is 0"),
        ("name=", "name", "name is empty"),
    ],
)
def test_a_wrong_change_is_named(change: str, field: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        load_recipe("medley-crossencoder", [change])
    assert caught.value.field == field


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(NotFound, match=r"no recipe 'nothing'.*medley-biencoder"):
        load_recipe("nothing")


LONGFORMER: dict[str, Any] = {
    "kind": "bi-encoder",
    "objective": "whole-batch",
    "pooling": "cls",
    "windows": "surroundings",
    "tasks": {"a": {}},
}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kind": "tri-encoder"}, "kind"),
        ({"objective": "guess"}, "objective"),
        ({"batch": 0}, "batch"),
        ({"tasks": {}}, "tasks"),
        ({"soup": 1.5}, "soup"),
        ({"colour": "red"}, "colour"),
        ({"tasks": {"a": {"takes": 3}}}, "takes"),
        ({"tasks": {"a": {"window": -1}}}, "window"),
        ({"tasks": {"a": {"take": 0}}}, "take"),
        ({"batch": "eight"}, "batch"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"negatives": 0}, "negatives"),
        ({"head": "tail"}, "head"),
        ({"objective": "two-class", "head": "interaction"}, "head"),
        ({"objective": "two-class-pairs", "head": "interaction"}, "head"),
        ({"objective": "two-class-pairs", "negatives": 0}, "negatives"),
        ({"objective": "two-class-pairs", "teacher": "x", "distillation": "kl"}, "distillation"),
        ({"objective": "two-class", "variants": 2}, "variants"),
        ({"variants": -1}, "variants"),
        ({"varied": "abstract"}, "varied"),
        ({"choose": "last"}, "choose"),
        ({"objective": "triplet"}, "objective"),
        ({"kind": "bi-encoder", "objective": "triplet", "similarity": "dot"}, "similarity"),
        ({"kind": "bi-encoder", "objective": "triplet-both", "similarity": "dot"}, "similarity"),
        ({"gather": 0}, "gather"),
        ({"softmax": -1}, "softmax"),
        ({"kind": "poly-encoder", "objective": "triplet"}, "objective"),
        ({"distillation": "kl"}, "teacher"),
        ({"teacher": "medley-crossencoder"}, "teacher"),
        ({"patience": 2}, "patience"),
        ({"markers": "always"}, "markers"),
        ({"batch": 2.5}, "batch"),
        ({"seed": True}, "seed"),
        ({"frozen": "embeddings."}, "frozen"),
        ({"layers": 3}, "layers"),
        ({"max_length": 64, "max_query": 64}, "max_query"),
        ({"tasks": {"a": 3}}, "a"),
        ({"tasks": "a"}, "tasks"),
        ({"tasks": {"a": {"take": "all"}}}, "take"),
        ({"tasks": {"a": {"repeat": 1.5}}}, "repeat"),
        ({"tasks": {"a": {"context": "often"}}}, "context"),
        ({"tasks": {"a": {"context": float("nan")}}}, "context"),
        ({"tasks": {"a": {"repeat": 0}}}, "repeat"),
        ({"kind": ["cross-encoder"]}, "kind"),
        ({"objective": {"a": 1}}, "objective"),
        ({"base": 3}, "base"),
        ({"base": ""}, "base"),
        ({"name": 3}, "name"),
        ({"prior": ["medley-biencoder"]}, "prior"),
        ({"teacher": 3, "distillation": "kl"}, "teacher"),
        ({"teacher_form": False}, "teacher_form"),
        ({"frozen": [3]}, "frozen"),
        ({"frozen": [""]}, "frozen"),
        ({"layers": ["0"]}, "layers"),
        ({"layers": [True]}, "layers"),
        ({"learning_rate": float("inf")}, "learning_rate"),
        ({"learning_rate": 1e300}, "learning_rate"),
        ({"margin": float("nan")}, "margin"),
        ({"soup": float("nan")}, "soup"),
        ({"keep": 1.5}, "keep"),
        ({"keep": 0.5}, "keep"),
        ({"kind": "bi-encoder", "objective": "contrastive", "keep": 0.5, "similarity": "dot"}, "keep"),
        ({"kind": "bi-encoder", "objective": "contrastive", "keep": 0.5, "layers": [0]}, "keep"),
        ({"warmup": 1.5}, "warmup"),
        ({"steps": 10**20}, "steps"),
        ({"seed": -(10**400)}, "seed"),
        ({"threads": 2**40}, "threads"),
        ({**LONGFORMER, "pooling": "mean"}, "windows"),
        ({**LONGFORMER, "kind": "cross-encoder", "objective": "listwise"}, "windows"),
        ({**LONGFORMER, "tasks": {"a": {"window": 80}}}, "window"),
        ({**LONGFORMER, "similarity": "cosine", "keep": 0.5}, "keep"),
        ({**LONGFORMER, "positions": -1}, "positions"),
        ({**LONGFORMER, "attention_window": 7}, "attention_window"),
        ({"kind": "cross-encoder", "objective": "listwise", "positions": 4096, "tasks": {"a": {}}}, "positions"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, object], field: str) -> None:
    good = {"kind": "cross-encoder", "objective": "listwise", "tasks": {"a": {}}}
    with pytest.raises(InvalidInput) as caught:
        parse_recipe({**good, **values}, "test")
    assert caught.value.field == field


def test_a_lacking_setting_and_broken_toml_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="objective"):
        parse_recipe({"kind": "cross-encoder", "tasks": {"a": {}}}, "test")
    with pytest.raises(InvalidInput, match=r"^the recipe is missing the setting 'kind'$"):
        parse_recipe({"tasks": {"a": {}}}, "test")
    with pytest.raises(InvalidInput, match="steps is True; it must be an integer"):
        replace(RECIPE, steps=True)
    (tmp_path / "long.toml").write_text(f"seed = {'9' * 5000}")
    with pytest.raises(InvalidInput, match=r"long\.toml is not valid TOML"):
        load_recipe(tmp_path / "long.toml")
    (tmp_path / "latin.toml").write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"latin\.toml is not valid UTF-8"):
        load_recipe(tmp_path / "latin.toml")
    (tmp_path / "bad.toml").write_text("kind = ")
    with pytest.raises(InvalidInput, match=r"bad\.toml is not valid TOML"):
        load_recipe(tmp_path / "bad.toml")


def test_context_stands_before_the_text_or_not_at_all() -> None:
    assert render_text(text("x"), True) == "Title x causes Text of x."
    assert render_text(text("x"), False) == "Text of x."
    assert render_text(replace(text("x"), title="", heading=""), True) == "Text of x."


def test_examples_follow_the_shares() -> None:
    found = make_examples(PAIRS, RECIPE)
    assert {task: len(items) for task, items in found.items()} == {"a": 18, "b": 4}
    assert all(len(item.texts) == 3 and item.texts[0].endswith(f"of {item.ids[0]}.") for item in found["a"])
    assert 0 < sum(item.texts[0].startswith("Title") for item in found["a"]) < 18
    rounds = [item.ids[1:] for item in found["a"] if item.ids[0] == "a3"]
    assert rounds[0] != rounds[1]


def test_a_positive_without_title_lets_no_negative_show_one() -> None:
    pair = PAIRS["a"][0]
    untitled = replace(pair, positive=replace(pair.positive, title="", heading=""))
    (shown_now,) = make_examples({"a": [untitled]}, replace(RECIPE, tasks={"a": Share()}))["a"]
    assert shown_now.texts[0] == untitled.positive.text
    assert set(shown_now.texts[1:]) <= {item.text for item in untitled.negatives}


def test_pairs_with_too_few_negatives_are_left_out() -> None:
    assert make_examples({"a": made("a", 3, negatives=1), "b": []}, RECIPE) == {"a": [], "b": []}


def test_the_plan_is_the_same_each_time_and_holds_every_example_once() -> None:
    batches = plan_batches(PAIRS, RECIPE)
    assert batches == plan_batches(PAIRS, RECIPE)
    assert batches != plan_batches(PAIRS, replace(RECIPE, seed=14))
    assert sorted(item.query for batch in batches for item in batch) == sorted(
        item.query for items in make_examples(PAIRS, RECIPE).values() for item in items
    )


def test_a_bi_encoder_batch_holds_one_task_and_is_full() -> None:
    batches = plan_batches(PAIRS, replace(RECIPE, kind="bi-encoder", objective="contrastive"))
    assert len(batches) == 18 // 4 + 1
    assert all(len(batch) == 4 and len({item.task for item in batch}) == 1 for batch in batches)


def test_a_group_takes_part_with_so_many_pairs_drawn_anew_each_epoch() -> None:
    crowd = [replace(pair, group="crowd" if number < 8 else pair.group) for number, pair in enumerate(made("a", 10))]
    recipe = replace(RECIPE, tasks={"a": Share(most=3)}, epochs=2)
    first, second = ({item.ids[0] for item in make_examples({"a": crowd}, recipe, epoch)["a"]} for epoch in (0, 1))
    assert len(first) == len(second) == 3 + 2
    assert first != second
    assert {crowd[8].positive.id, crowd[9].positive.id} <= first & second


def test_examples_of_one_group_stand_together() -> None:
    pairs = [replace(pair, group=f"g{number % 3}") for number, pair in enumerate(made("a", 12))]
    recipe = replace(RECIPE, kind="bi-encoder", objective="triplet", tasks={"a": Share()}, gather=2)
    batches = plan_batches({"a": pairs}, recipe)
    assert [len(batch) for batch in batches] == [4, 4, 4]
    assert all([item.group for item in batch[::2]] == [item.group for item in batch[1::2]] for batch in batches)
    assert sorted(item.ids[0] for batch in batches for item in batch) == sorted(pair.positive.id for pair in pairs)


def test_a_triplet_takes_pairs_without_negatives_too() -> None:
    recipe = replace(RECIPE, kind="bi-encoder", objective="triplet", tasks={"a": Share()})
    assert len(make_examples({"a": made("a", 3, negatives=1) + made("a", 2, negatives=0)}, recipe)["a"]) == 5


def test_a_cross_encoder_over_the_whole_batch_gets_batches_of_one_task() -> None:
    batches = plan_batches(PAIRS, replace(RECIPE, objective="whole-batch", negatives=0))
    assert all(len(batch) == 4 and len({item.task for item in batch}) == 1 for batch in batches)


SINGLE = replace(RECIPE, objective="two-class-pairs", tasks={"a": Share(context=0.0)}, choose="first")
NEAR = {"query": ["question"], "long": ["tall"], "text": ["word"]}


def test_each_text_is_an_example_of_its_own_right_or_wrong() -> None:
    found = make_examples(PAIRS, SINGLE)["a"]
    assert len(found) == 9 * 3
    assert all(len(item.texts) == len(item.ids) == 1 for item in found)
    shown = {(item.ids[0], item.ids[0] in item.relevant) for item in found}
    assert shown == {(f"a{n}{end}", not end) for n in range(9) for end in ("", "-0", "-1")}  # the first two of five
    drawn = {item.ids[0] for item in make_examples(PAIRS, replace(SINGLE, choose="drawn"))["a"]}
    assert any(name.endswith("-4") for name in drawn)


def test_an_answer_has_its_variants_and_a_wrong_text_none() -> None:
    found = make_examples(PAIRS, replace(SINGLE, variants=4), 0, NEAR)["a"]
    assert len(found) == 9 * (1 + 2) + 8 * 4  # the shortest query has too few words for a variant
    of_last = [item for item in found if item.ids[0] == "a8"]
    assert [item.counts for item in of_last] == [True] + [False] * 4
    assert len({item.query for item in of_last}) > 1
    assert {item.relevant for item in of_last} == {frozenset({"a8"})}
    assert all("tall" not in item.query for item in found if item.ids[0] not in item.relevant)
    again = make_examples(PAIRS, replace(SINGLE, variants=4), 3, NEAR)["a"]
    assert {item.query for item in again} == {item.query for item in found}


def test_single_pairs_are_not_gathered_by_length() -> None:
    pairs = {"a": PAIRS["a"] * 8}
    batches = plan_batches(pairs, replace(SINGLE, batch=8))

    def spread(batch: list[Any]) -> int:
        lengths = [len(item.query) + len(item.texts[0]) for item in batch]
        return max(lengths) - min(lengths)

    whole = max(map(spread, [[item for batch in batches for item in batch]]))
    assert sum(spread(batch) > whole / 2 for batch in batches) > len(batches) / 2


def test_batches_count_single_pairs_and_runs_count_labelled_ones() -> None:
    batches = plan_batches(PAIRS, replace(SINGLE, variants=2), NEAR)
    assert sum(map(len, batches)) == 9 * 3 + 8 * 2
    assert {len(batch) for batch in batches} == {4, 3}
    assert count_pairs(batches) == {"a": 9}
    assert any(len({item.query for item in batch}) > 1 for batch in batches)


def test_a_further_epoch_leaves_the_first_as_it_was_and_draws_anew() -> None:
    once, twice = plan_batches(PAIRS, RECIPE), plan_batches(PAIRS, replace(RECIPE, epochs=2))
    assert twice[: len(once)] == once
    assert {item.ids for batch in twice[len(once) :] for item in batch} != {
        item.ids for batch in once for item in batch
    }

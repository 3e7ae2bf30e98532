from __future__ import annotations

from dataclasses import replace

import pytest

from encoders.labels.pairs import Pair, Text
from encoders.training.data.batches import _at_window, make_examples
from encoders.training.recipe import Recipe, Share
from mappings.analysis.window_text import read_window
from mappings.errors import InvalidInput

LONG = (
    "We asked whether statins help. Two hundred people took part in the trial. Nurses visited each of them monthly. "
    "Strokes were rarer with statins than without them. The cost was not measured. Funding came from a charity."
)


def _cut_to_window(text: str, query: str, words: int) -> str:
    return _at_window(text, query, words, late=False)


RECIPE = Recipe("test", "cross-encoder", "listwise", {"a": Share(window=12)}, negatives=1)


def test_the_run_of_sentences_that_shares_most_stems_is_shown() -> None:
    assert (
        _cut_to_window(LONG, "a statin makes a stroke rarer", 12)
        == "Strokes were rarer with statins than without them."
    )
    assert _cut_to_window(LONG, "who funded it, which charity?", 12).endswith("Funding came from a charity.")


def test_whole_sentences_within_the_limit_and_always_the_same() -> None:
    for words in (5, 12, 25, 40):
        found = _cut_to_window(LONG, "nurses", words)
        assert found in LONG
        assert len(found.split()) <= words
        assert "Nurses" in found
        assert _cut_to_window(LONG, "nurses", words) == found


@pytest.mark.parametrize(("text", "words"), [(LONG, 0), (LONG, 500), ("", 5)])
def test_what_fits_is_shown_whole(text: str, words: int) -> None:
    assert _cut_to_window(text, "anything", words) == text


def test_of_equals_the_first_is_shown() -> None:
    assert _cut_to_window(LONG, "zebra", 12).startswith("We asked")


def test_positives_and_negatives_are_cut_alike_and_keep_their_title() -> None:
    positive, negative = Text("p", "Statins", "", LONG), Text("n", "Other", "", LONG.replace("statins", "masks"))
    pair = Pair("a", "a:1", "1", "train", "c", "strokes rarer", ("p",), positive, (negative,))
    (item,) = make_examples({"a": [pair]}, RECIPE)["a"]
    assert item.texts == (
        "Statins Strokes were rarer with statins than without them.",
        "Other Strokes were rarer with masks than without them.",
    )
    (whole,) = make_examples({"a": [pair]}, replace(RECIPE, tasks={"a": Share()}))["a"]
    assert whole.texts[0] == f"Statins {LONG}"


def test_a_model_that_reads_late_is_shown_the_whole_passage_and_the_place_of_the_window() -> None:
    pair = Pair("a", "a:1", "1", "train", "c", "strokes rarer", ("p",), Text("p", "Statins", "", LONG), ())
    recipe = replace(RECIPE, kind="bi-encoder", objective="contrastive", windows="late", negatives=0)
    (item,) = make_examples({"a": [pair]}, recipe)["a"]
    found = read_window(item.texts[0])
    assert (found.context, found.window) == ("Statins ", "Strokes were rarer with statins than without them.")
    assert found.whole == f"Statins {LONG}"
    (short,) = make_examples({"a": [pair]}, replace(recipe, tasks={"a": Share(window=500)}))["a"]
    assert short.texts == (f"Statins {LONG}",)


@pytest.mark.parametrize("values", [{"window": -1}, {"repeat": -1}, {"context": 2.0}])
def test_a_share_out_of_range_is_named(values: dict[str, float]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Share(**values)  # type: ignore[arg-type]
    assert caught.value.field == next(iter(values))

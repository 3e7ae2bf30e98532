"""Token ids from text: templates, truncation, batches."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import VOCABULARY, word_pieces

from encoders.artifact import Reading
from encoders.text import ModelTokenizer, Tokens, fill_template, group_by_length, mask_index, pad
from mappings.errors import ModelError

CLS, SEP = 1, 2
READING = Reading(query_tokens=6, passage_tokens=12, query_template="dose {text}", passage_template="{text}")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("reader") / "tokenizer.json"
    word_pieces().save(str(file))
    return file


@pytest.fixture(scope="module")
def tokenizer(path: Path) -> ModelTokenizer:
    return ModelTokenizer(path, READING)


def ids(words: str) -> list[int]:
    return [VOCABULARY[word] for word in words.split()]


def test_queries_and_passages_have_their_own_template_and_length(tokenizer: ModelTokenizer) -> None:
    text = "fever pain cough heart stroke lung renal acute chronic risk trial patients aspirin"
    (query,), (passage,) = tokenizer.tokenize_queries([text]), tokenizer.tokenize_passages([text])
    assert query.ids == [CLS, *ids("dose fever pain cough"), SEP]
    assert passage.ids == [CLS, *ids("fever pain cough heart stroke lung renal acute chronic risk"), SEP]
    assert passage.types == [0] * 12


def test_in_a_pair_only_the_passage_gives_way(tokenizer: ModelTokenizer) -> None:
    passages = ["lung renal acute chronic risk trial patients aspirin", "lung", ""]
    long, short, empty = tokenizer.tokenize_pairs("fever pain", passages)
    assert long.ids == [CLS, *ids("dose fever pain"), SEP, *ids("lung renal acute chronic risk trial"), SEP]
    assert long.types == [0] * 5 + [1] * 7
    assert short.ids == [CLS, *ids("dose fever pain"), SEP, *ids("lung"), SEP]
    assert empty.ids == [CLS, *ids("dose fever pain"), SEP, SEP]


def test_a_pair_may_lose_the_middle_of_its_passage(path: Path) -> None:
    middle = ModelTokenizer(path, replace(READING, cut="middle"))
    text = "lung renal acute chronic risk trial patients aspirin"
    long, fits, empty = middle.tokenize_pairs("fever pain", [text, "lung renal acute chronic risk trial", ""])
    assert long.ids == [CLS, *ids("dose fever pain"), SEP, *ids("lung renal risk trial patients aspirin"), SEP]  # fmt: skip
    assert long.types == [0] * 5 + [1] * 7
    assert fits.ids == [CLS, *ids("dose fever pain"), SEP, *ids("lung renal acute chronic risk trial"), SEP]
    assert empty.ids == [CLS, *ids("dose fever pain"), SEP, SEP]


def test_a_query_over_its_limit_is_cut_to_it(tokenizer: ModelTokenizer) -> None:
    (pair,) = tokenizer.tokenize_pairs("fever pain cough heart stroke lung renal", ["acute risk trial"])
    assert pair.ids == [CLS, *ids("dose fever pain cough heart stroke"), SEP, *ids("acute risk trial"), SEP]
    assert len(pair) <= READING.passage_tokens


def test_pairs_without_passages_and_nothing_at_all(tokenizer: ModelTokenizer) -> None:
    assert tokenizer.tokenize_pairs("fever", []) == []
    assert tokenizer.tokenize_queries([]) == []
    assert [item.ids for item in tokenizer.tokenize_passages([""])] == [[CLS, SEP]]


@given(st.text(st.characters(codec=None), max_size=60), st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_read_within_the_limits(query: str, passage: str) -> None:
    tokenizer = _tokenizer()
    assert all(len(item) <= READING.query_tokens for item in tokenizer.tokenize_queries([query]))
    assert all(len(item) <= READING.passage_tokens for item in tokenizer.tokenize_passages([passage]))
    for item in tokenizer.tokenize_pairs(query, [passage, query]):
        assert len(item) <= READING.passage_tokens
        assert len(item.ids) == len(item.types)
        assert item.ids[0] == CLS
        assert item.ids.count(SEP) >= 2


def test_surrogates_and_control_characters_read_as_spaces(tokenizer: ModelTokenizer) -> None:
    assert tokenizer.tokenize_passages(["fever\ud800pain\x00\x1fcough"]) == tokenizer.tokenize_passages(
        ["fever pain cough"]
    )
    assert fill_template("a {text} b", "{text}") == "a {text} b"


def test_a_text_of_megabytes_costs_no_more_than_its_beginning(tokenizer: ModelTokenizer) -> None:
    start = time.process_time()
    (item,) = tokenizer.tokenize_passages(["fever pain " * 500_000])
    assert time.process_time() - start < 0.5
    assert len(item) == READING.passage_tokens


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a valid tokenizer file"):
        ModelTokenizer(file, READING)


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 2000))
def test_batches_hold_every_input_once_within_the_budget(lengths: list[int], budget: int) -> None:
    groups = group_by_length(lengths, budget)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or max(lengths[i] for i in group) * len(group) <= budget
    flat = [lengths[index] for group in groups for index in group]
    assert flat == sorted(flat, reverse=True)
    assert groups == group_by_length(lengths, budget)


def test_batches_by_hand() -> None:
    assert group_by_length([], 10) == []
    assert group_by_length([3, 9, 3, 2, 3], 9) == [[1], [0, 2, 4], [3]]
    assert group_by_length([5, 5, 5], 1) == [[0], [1], [2]]
    assert group_by_length([0, 0], 10) == [[0, 1]]


def test_padding_is_masked() -> None:
    batch = pad([Tokens([1, 5, 2], [0, 0, 1]), Tokens([1, 2], [0, 0]), Tokens([], [])], [1, 0])
    assert batch.rows == (1, 0)
    assert batch.ids.tolist() == [[1, 2, 0], [1, 5, 2]]
    assert batch.mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert batch.types.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert pad([Tokens([], [])], [0]).mask.tolist() == [[0]]
    assert batch.ids.dtype == np.int64


_TOKENIZERS: list[ModelTokenizer] = []


def _tokenizer() -> ModelTokenizer:
    if not _TOKENIZERS:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tokenizer.json"
            word_pieces().save(str(file))
            _TOKENIZERS.append(ModelTokenizer(file, READING))
    return _TOKENIZERS[0]


def test_a_mask_as_lengths_and_starts() -> None:
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    assert mask_index(mask, starts=False).tolist() == [4, 2]
    assert mask_index(mask, starts=True).tolist() == [4, 2, 0, 4, 8, 0, 4, 8]
    assert mask_index(mask, starts=True).dtype == np.int32

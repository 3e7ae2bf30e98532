"""Late chunking: a passage is read once, and its windows are means over their own tokens there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import VOCABULARY, WIDTH, write_artifact

from encoders.artifact import SHIPPED, WEIGHTS, Artifact, Reading, describe, find, seal
from encoders.cache import CachedEncoder
from encoders.late.spans import TokenSpan, cut_around, cut_to_room, plan_runs, span_tokens
from encoders.pooling import unit
from encoders.runtime import BiEncoder
from mappings.analysis.window_text import alone, place_window
from mappings.errors import ModelError

TITLE, TEXT = "aspirin trial", "fever in patients of risk with acute renal pain"
FIRST, SECOND = place_window(TITLE, TEXT, 0, 17), place_window(TITLE, TEXT, 18, len(TEXT))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "late"


def encoder_of(folder: Path, tokens: int = 32, windows: str = "late") -> BiEncoder:
    return BiEncoder(write_artifact(folder, reading=Reading("mean", True, 4, tokens, windows=windows)), form="fp32")


def mean_of(folder: Path, words: str) -> np.ndarray:
    """The unit mean of the rows of these words: the hidden states of the tiny model know no context."""
    table = np.frombuffer((folder / WEIGHTS).read_bytes(), dtype=np.float32).reshape(-1, WIDTH)
    return unit(table[[VOCABULARY[word] for word in words.split()]].mean(axis=0, keepdims=True))[0]


def test_a_window_is_the_mean_over_its_own_tokens(folder: Path) -> None:
    encoder = encoder_of(folder)
    vectors = encoder.encode_passages([SECOND, FIRST, "fever"])
    assert np.allclose(vectors[0], mean_of(folder, "of risk with acute renal pain"), atol=1e-6)
    assert np.allclose(vectors[1], mean_of(folder, "fever in patients"), atol=1e-6)
    assert np.allclose(vectors[2], mean_of(folder, "[CLS] fever [SEP]"), atol=1e-6)  # a text alone is all of its input
    assert encoder.encode_passages([]).shape == (0, WIDTH)


def test_the_title_counts_in_each_window_where_the_model_says_so(folder: Path) -> None:
    vectors = encoder_of(folder, windows="late-context").encode_passages(
        [SECOND, FIRST, "fever", place_window("", TEXT, 0, 17)]
    )
    assert np.allclose(vectors[0], mean_of(folder, "aspirin trial of risk with acute renal pain"), atol=1e-6)
    assert np.allclose(vectors[1], mean_of(folder, "aspirin trial fever in patients"), atol=1e-6)
    assert np.allclose(vectors[2], mean_of(folder, "[CLS] fever [SEP]"), atol=1e-6)
    assert np.allclose(vectors[3], mean_of(folder, "fever in patients"), atol=1e-6)


def test_the_title_counts_in_windows_of_a_passage_that_is_read_in_parts(folder: Path) -> None:
    text = " ".join(["pain"] * 9 + ["cough"] * 3)
    placed = [place_window("trial", text, start, end) for start, end in ((35, 44), (45, len(text)))]
    vectors = encoder_of(folder, tokens=8, windows="late-context").encode_passages(placed)
    assert np.allclose(vectors[0], mean_of(folder, "trial pain pain"), atol=1e-6)
    assert np.allclose(vectors[1], mean_of(folder, "trial cough cough cough"), atol=1e-6)


def test_a_passage_is_read_once_for_all_of_its_windows(folder: Path) -> None:
    encoder = encoder_of(folder)
    encoder.encode_passages([FIRST, SECOND, FIRST])
    assert encoder.tokens_run == 2 + 9 + 2


def test_a_passage_longer_than_the_model_reads_is_read_to_its_end(folder: Path) -> None:
    encoder = encoder_of(folder, tokens=8)
    text = " ".join(["pain"] * 9 + ["cough"] * 3 + ["dose"] * 4)
    ends = [44, 62, len(text)]
    placed = [place_window("trial", text, start, end) for start, end in zip([0, 45, 63], ends, strict=True)]
    vectors = encoder.encode_passages(placed)
    assert [
        np.allclose(row, mean_of(folder, word), atol=1e-6)
        for row, word in zip(vectors, ("pain", "cough", "dose"), strict=True)
    ] == [True] * 3
    assert all(len(item) <= 8 for item in encoder.read_windows(placed))


@pytest.mark.parametrize(
    "text", ["", " ", "\ufdd0\ufdd1\ufdd2", "\ud800\x00", "\u200b" * 9, "x" * 100_000, "fever " * 30_000]
)
def test_hostile_texts_have_unit_vectors(folder: Path, text: str) -> None:
    placed = [text, place_window(text, text, 0, len(text) // 2), place_window("", text, len(text), len(text))]
    vectors = encoder_of(folder).encode_passages(placed)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_models_of_separate_windows_read_a_window_without_its_passage(bi: Artifact) -> None:
    encoder = BiEncoder(bi, form="fp32")
    assert np.array_equal(encoder.encode_passages([FIRST]), encoder.encode_passages([alone(FIRST)]))


def test_cached_vectors_are_those_of_the_passage_around_them(bi: Artifact, folder: Path, tmp_path: Path) -> None:
    other = FIRST + " with chronic cough"
    for encoder, apart in ((encoder_of(folder), True), (BiEncoder(bi, form="fp32"), False)):
        cached = CachedEncoder(encoder, tmp_path / "cache")
        vectors = cached.encode_passages([FIRST, SECOND])
        assert np.allclose(vectors, encoder.encode_passages([FIRST, SECOND]), atol=1e-6)
        tokens = encoder.tokens_run
        assert np.array_equal(cached.encode_passages([SECOND, FIRST]), vectors[::-1])
        assert encoder.tokens_run == tokens
        cached.encode_passages([other])
        assert (encoder.tokens_run > tokens) == apart


def test_a_model_says_how_it_reads_windows_and_earlier_ones_read_them_separately(bi: Artifact, folder: Path) -> None:
    assert Artifact.open(write_artifact(folder, reading=Reading(windows="late")).folder).reading.windows == "late"
    manifest = {key: value for key, value in bi.manifest.items() if key not in ("files", "fingerprint")}
    manifest |= {
        "format": 2,
        "reading": {key: value for key, value in bi.manifest["reading"].items() if key != "windows"},
    }
    assert seal(bi.folder, manifest).reading.windows == "separate"
    with pytest.raises(
        ModelError, match="windows is 'late'; it must be separate, or late or late-context where the pooling is mean"
    ):
        Reading("cls", windows="late")
    with pytest.raises(ModelError, match="windows is 'sometimes'"):
        Reading(windows="sometimes")


def test_the_shipped_model_reads_a_window_in_the_light_of_its_passage(tmp_path: Path) -> None:
    shipped = Artifact.open(find("medley-biencoder", [SHIPPED]))
    for name in ("weights.bin", "tokenizer.json", *shipped.forms.values()):
        (tmp_path / name).symlink_to(shipped.folder / name)
    artifact = seal(
        tmp_path,
        describe("bi-encoder", 384, Reading(passage_tokens=512, windows="late"), shipped.forms, {"name": "late"}),
    )
    encoder = BiEncoder(artifact)
    text = "The drug was ivermectin. It did not shorten the stay in hospital."
    about, other = (place_window("", text.replace("ivermectin", name), 25, 99) for name in ("ivermectin", "olanzapine"))
    query = encoder.encode_queries(["ivermectin and stay in hospital"])[0]
    near, far = encoder.encode_passages([about, other]) @ query
    assert near > far
    assert alone(about) == alone(other)


SPANS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@given(SPANS, st.integers(0, 12), st.integers(1, 50))
def test_runs_hold_every_token_of_every_span_once_and_no_run_is_too_long(
    lengths: list[int], context: int, room: int
) -> None:
    starts = np.cumsum([context, *lengths])
    spans = [TokenSpan(row, int(starts[row]), int(starts[row + 1])) for row in range(len(lengths))]
    length = int(starts[-1])
    runs = plan_runs(length, context, spans, room)
    held: dict[int, list[int]] = {span.row: [] for span in spans}
    for run in runs:
        tokens = [*range(run.context), *range(run.start, run.stop)]
        assert len(tokens) <= max(room, 1)
        for span in run.spans:
            held[span.row] += tokens[span.first : span.last]
    assert held == {span.row: list(range(span.first, span.last)) for span in spans}


@given(st.integers(1, 60), st.data())
def test_a_text_cut_to_its_room_keeps_its_beginning_and_what_is_asked_for(length: int, data: st.DataObject) -> None:
    context = data.draw(st.integers(0, length - 1))
    first = data.draw(st.integers(context, length - 1))
    last = data.draw(st.integers(first + 1, length))
    room = data.draw(st.integers(1, 70))
    shown, places = cut_to_room(length, context, first, last, room)
    assert places[:shown] == list(range(shown))
    assert places == sorted(set(places))
    assert len(places) == min(length, room)
    assert shown == (context if length <= room else min(context, room // 4))
    assert set(range(first, min(last, first + room - shown))) <= set(places)


@given(st.integers(1, 60), st.data())
def test_a_cut_keeps_the_span_and_fills_the_room(length: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, length - 1))
    last = data.draw(st.integers(first + 1, length))
    room = data.draw(st.integers(1, 70))
    kept = cut_around(length, first, last, room)
    assert 0 <= kept.start <= first
    assert kept.stop - kept.start == min(length, room)
    assert kept.stop >= min(last, first + room)


def test_the_tokens_of_a_span_end_within_it() -> None:
    offsets = [(0, 3), (3, 6), (7, 9), (9, 9), (10, 12)]
    assert span_tokens(offsets, 3, 10) == (1, 3)
    assert span_tokens(offsets, 4, 9) == (1, 3)
    assert span_tokens(offsets, 6, 9) == (2, 3)
    assert span_tokens(offsets, 12, 20) == (0, 0)


def test_what_is_spare_is_shared_by_both_sides() -> None:
    assert cut_around(100, 40, 50, 30) == slice(30, 60)
    assert cut_around(100, 5, 10, 30) == slice(0, 30)
    assert cut_around(100, 90, 95, 30) == slice(70, 100)

"""Variants of a headline: within the paper's bounds, by seed, and never of what is held out."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from encoders.labels.augment import augment, read_neighbours, vary, vary_pair
from encoders.labels.pairs import Pair, Text, read_pairs, write_lines
from encoders.labels.vectors import Neighbourhood, write_neighbours
from encoders.words.fasttext import VectorTraining
from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput, NotFound
from web.cli.commands.labels import label

NEAR = {
    "statins": ["statin", "aspirin", "decrease"],
    "stroke": ["infarction", "tia"],
    "older": ["elderly", "aged"],
    "adults": ["people", "patients"],
    "lower": ["reduce"],
    "not": ["never"],
}
HEADLINE = "Statins lower the risk of stroke in older adults, not in the young"
PAIR = Pair("claim", "c:1", "g", "train", "abstracts", HEADLINE, ("t",), Text("t", "", "", "A trial."))


def changed(query: str, other: str) -> tuple[int, int]:
    """(tokens added, tokens of the query gone)."""
    before, after = Counter(query.split()), Counter(other.split())
    return len(other.split()) - len(query.split()), (before - after).total()


def test_half_are_insertions_and_half_substitutions() -> None:
    found = vary(HEADLINE, NEAR, 10, random.Random(1))
    assert len(found) == len(set(found)) == 10
    assert [changed(HEADLINE, other) for other in found] == [(3, 0)] * 5 + [(0, 3)] * 5
    assert HEADLINE not in found


def test_words_that_turn_a_claim_round_stay_and_are_not_put_in() -> None:
    for other in vary(HEADLINE, NEAR, 40, random.Random(2)):
        words = other.lower().split()
        assert words.count("lower") == words.count("not") == 1
        assert not {"never", "reduce", "decrease"} & set(words)


def test_a_substitute_takes_the_marks_and_the_capital() -> None:
    (other,) = vary("Statins, then rest is what helps", {"statins": ["aspirin"]}, 1, random.Random(3))
    assert other == "Aspirin, then rest is what helps"


def test_names_with_digits_stay_whole() -> None:
    assert vary("p53 and COVID-19 or 50 p2", {"p": ["q"], "covid": ["flu"]}, 4, random.Random(4)) == []


@given(st.lists(st.sampled_from(sorted(NEAR)), max_size=60), st.integers(1, 12), st.integers())
def test_at_most_ten_tokens_and_thirty_percent_change(words: list[str], m: int, seed: int) -> None:
    query = " ".join(words)
    found = vary(query, NEAR, m, random.Random(seed))
    assert len(found) <= m
    for other in found:
        added, gone = changed(query, other)
        assert added + gone <= min(10, 0.3 * len(words))


@pytest.mark.parametrize(("words", "changes"), [(60, 10), (34, 10), (20, 6), (7, 2), (3, 0)])
def test_ten_tokens_change_and_of_short_texts_thirty_percent(words: int, changes: int) -> None:
    query = " ".join(["stroke"] * words)
    found = vary(query, NEAR, 2, random.Random(1))
    assert [changed(query, other) for other in found] == ([(changes, 0), (0, changes)] if changes else [])


ABSTRACT = "Statins were given to older adults in ten towns. Nothing else was. Stroke was rare."


def test_a_pair_varies_in_every_sentence_of_both_texts_that_can_change() -> None:
    found = list(vary_pair((HEADLINE, ABSTRACT), NEAR, 4, random.Random(5)))
    assert [changed(HEADLINE, query) for query, _ in found] == [(3, 0)] * 2 + [(0, 3)] * 2
    # Of 9 tokens 2 change; "Stroke was rare." has 3, of which none may.
    assert [changed(ABSTRACT, text) for _, text in found] == [(2, 0)] * 2 + [(0, 2)] * 2
    assert all(text.endswith("Nothing else was. Stroke was rare.") for _, text in found)
    assert found == list(vary_pair((HEADLINE, ABSTRACT), NEAR, 4, random.Random(5)))


def test_a_query_alone_varies_where_that_is_asked() -> None:
    found = list(vary_pair((HEADLINE, ABSTRACT), NEAR, 3, random.Random(6), "query"))
    assert [text for _, text in found] == [ABSTRACT] * 3
    assert [changed(HEADLINE, query) for query, _ in found] == [(3, 0), (0, 3), (0, 3)]
    assert list(vary_pair(("Rest helps", "Rest helps."), NEAR, 3, random.Random(7))) == []


@given(st.lists(st.sampled_from(["statins", "older", "of", "stroke."]), max_size=200), st.integers())
def test_no_sentence_of_a_pair_changes_beyond_the_bounds(words: list[str], seed: int) -> None:
    text = " ".join(words)
    allowed = sum(min(10, 0.3 * len(text[item.start : item.end].split())) for item in sentences(text))
    for _, other in vary_pair(("", text), NEAR, 2, random.Random(seed)):
        assert sum(changed(text, other)) <= allowed


def test_training_pairs_alone_have_variants_by_seed() -> None:
    held_out = replace(PAIR, id="c:2", split="held-out")
    first, again = (list(augment([PAIR, held_out], NEAR, 4)) for _ in range(2))
    assert first == again
    assert [pair.id for pair in first] == ["c:1", "c:1+1", "c:1+2", "c:1+3", "c:1+4", "c:2"]
    assert {pair.positive for pair in first} == {PAIR.positive}
    assert first[-1] == held_out
    assert list(augment([PAIR], NEAR, 4, seed=2))[1:] != first[1:5]
    assert list(augment([PAIR], {}, 4)) == [PAIR]


def test_neighbours_are_read_or_named(tmp_path: Path) -> None:
    file = tmp_path / "neighbours.jsonl"
    with pytest.raises(InvalidInput, match="medley label vectors"):
        read_neighbours(file)
    file.write_text('{"word": "gout", "near": ["arthritis"]}\n')
    assert read_neighbours(file) == {"gout": ["arthritis"]}
    for line in ("{broken", '{"word": "gout"}', "[]"):
        file.write_text(f'{{"word": "gout", "near": []}}\n{line}\n')
        with pytest.raises(InvalidInput, match=r"neighbours\.jsonl, line 2"):
            read_neighbours(file)


def corpus(labels: Path) -> Path:
    """Drugs stand where drugs stand, beasts where beasts stand."""
    draw = random.Random(5)
    drugs, beasts = ("aspirin", "warfarin", "heparin"), ("zebras", "lions", "tigers")
    texts = []
    for number in range(600):
        drug, beast = draw.choice(drugs), draw.choice(beasts)
        text = f"The nurse gave {drug} tablets to the patient daily. We saw {beast} run over open grass."
        texts.append(Text(f"t{number}", "", "", text))
    write_lines(labels / "corpora" / "c.jsonl", texts)
    return labels


@pytest.mark.slow
def test_words_of_like_surroundings_are_neighbours_the_same_at_each_run(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    training, wanted = VectorTraining(dimension=16, epochs=8), Neighbourhood(near=2)
    counts = write_neighbours(corpus(tmp_path), training, wanted)
    assert counts["vocabulary"] == len(read_neighbours(tmp_path / "neighbours.jsonl"))
    first = (tmp_path / "neighbours.jsonl").read_bytes()
    near = set(read_neighbours(tmp_path / "neighbours.jsonl")["aspirin"])
    assert near & {"warfarin", "heparin"}
    assert not near & {"zebras", "lions", "tigers", "grass"}
    write_neighbours(tmp_path, training, wanted)
    assert (tmp_path / "neighbours.jsonl").read_bytes() == first


@pytest.mark.slow
def test_vectors_need_corpora_of_some_size(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    with pytest.raises(NotFound, match="contains no corpora"):
        write_neighbours(tmp_path)
    write_lines(tmp_path / "corpora" / "c.jsonl", [Text("t", "", "", "Only once.")])
    with pytest.raises(InvalidInput, match="nothing to train on"):
        write_neighbours(tmp_path)


def test_variants_are_of_the_task_that_their_file_names(tmp_path: Path) -> None:
    answer = Text("d1", "", "", "Gout was rarer after a year of cherries.")
    query = "Does eating cherries every day keep gout away from men"
    write_lines(tmp_path / "press.jsonl", [Pair("press", "p:1", "d1", "train", "press", query, ("d1",), answer)])
    (tmp_path / "near.jsonl").write_text('{"word": "gout", "near": ["arthritis"]}\n')
    names = [str(tmp_path / name) for name in ("press.jsonl", "press-more.jsonl", "near.jsonl")]
    done = CliRunner().invoke(label, ["augment", *names[:2], "--neighbours", names[2], "--m", "2"])
    assert done.exit_code == 0, done.exception
    found = list(read_pairs(tmp_path / "press-more.jsonl"))
    assert len(found) > 1
    assert {pair.task for pair in found} == {"press-more"}

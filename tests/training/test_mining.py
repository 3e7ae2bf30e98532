from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from encoders.hashing import HashingEncoder
from encoders.labels.pairs import Pair, Text, read_pairs, write_lines
from mappings.analysis.window_text import alone, read_window
from mappings.errors import InvalidInput, NotFound
from search.engines.embedded.engine import EmbeddedEngine
from search.mining import Mining, mine, mine_folder
from search.mining_corpora import collection_of

TEXTS = [
    Text("t0", "Statins and stroke", "", "Statins lowered the rate of stroke in older adults."),
    Text("t1", "Statins and dementia", "", "Statins did not change the rate of dementia in older adults."),
    Text("t2", "Aspirin and stroke", "", "Aspirin lowered the rate of stroke after surgery."),
    Text("t3", "A reprint", "", "STATINS lowered the rate of stroke, in older adults!"),
    Text("t4", "Exercise", "", "Walking improved sleep."),
    Text("t5", "Stroke units", "", "Stroke units saved lives of older adults."),
]
CORPUS = {text.id: text for text in TEXTS}
PAIR = Pair(
    "claim", "claim:1", "t0", "train", "abstracts", "Statins prevent stroke in older adults.", ("t0",), TEXTS[0]
)


def everything(queries, depth):
    return [["t3", "t0", "t1", "t2", "t5", "unknown"][:depth] for _ in queries]


def mined(pair: Pair, **settings) -> list[str]:
    (found,) = mine([pair], CORPUS, [everything], Mining(**settings))
    return [text.id for text in found.negatives]


def test_answers_and_their_twins_are_no_negatives() -> None:
    assert set(mined(PAIR)) == {"t1", "t2", "t5"}
    assert set(mined(replace(PAIR, relevant=("t0", "t2")))) == {"t1", "t5"}


def test_a_passage_on_the_same_thing_under_the_same_heading_is_no_negative() -> None:
    told = {
        key: replace(text, title="Stroke", heading="treatment") for key, text in CORPUS.items() if key in ("t1", "t2")
    }
    told["t2"] = replace(told["t2"], heading="causes")
    pair = replace(PAIR, positive=replace(PAIR.positive, title="Stroke", heading="treatment"))
    (found,) = mine([pair], told, [everything], Mining())
    assert [text.id for text in found.negatives] == ["t2"]


def test_a_twin_of_an_answer_from_another_source_is_no_negative() -> None:
    told = CORPUS | {"t2": replace(CORPUS["t2"], title="STATINS, and stroke.")}
    (found,) = mine([PAIR], told, [everything], Mining())
    assert {text.id for text in found.negatives} == {"t1", "t5"}


def test_a_claim_is_asked_of_other_corpora_too(tmp_path: Path) -> None:
    write_lines(tmp_path / "labels/pairs/claim.jsonl", [PAIR])
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS[:2])
    write_lines(tmp_path / "labels/corpora/more.jsonl", TEXTS[2:])
    mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home", None, Mining(wider={"abstracts": ("more",)}))
    (pair,) = read_pairs(tmp_path / "out/claim.jsonl")
    assert {text.id for text in pair.negatives} == {"t1", "t2", "t5"}


def test_held_out_pairs_take_the_best_ranked_and_training_pairs_draw_the_same_each_time() -> None:
    assert mined(replace(PAIR, split="held-out"), count=2) == ["t1", "t2"]
    assert mined(PAIR, count=2) == mined(PAIR, count=2)
    assert len(mined(PAIR, count=2)) == 2


def test_rankings_take_turns() -> None:
    pair = replace(PAIR, split="held-out")
    (found,) = mine([pair], CORPUS, [everything, lambda queries, depth: [["t5", "t4"]]], Mining(count=3, depth=4))
    assert [text.id for text in found.negatives] == ["t5", "t4", "t1"]


def test_a_folder_of_labels_is_mined_through_the_engine(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "labels/pairs/claim.jsonl",
        [PAIR, replace(PAIR, id="claim:2", split="held-out", query=f"{PAIR.query} Yes")],
    )
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS)
    for name in ("first", "second"):  # the second run finds the index there already
        counts = mine_folder(tmp_path / "labels", tmp_path / name, tmp_path / "home", HashingEncoder(64))
        assert counts == {"claim": 2}
    found = {pair.id: [text.id for text in pair.negatives] for pair in read_pairs(tmp_path / "first/claim.jsonl")}
    assert set(found["claim:1"]) == {"t1", "t2", "t4", "t5"}
    assert "t4" not in found["claim:2"][:2]
    assert (tmp_path / "first/claim.jsonl").read_bytes() == (tmp_path / "second/claim.jsonl").read_bytes()


def test_an_index_without_the_encoders_vectors_is_made_anew(tmp_path: Path) -> None:
    write_lines(tmp_path / "labels/pairs/claim.jsonl", [PAIR])
    long = replace(TEXTS[0], id="long", text=" ".join(f"Sentence {n} names a thing of many words." for n in range(30)))
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", [*TEXTS, long])
    made = []
    for encoder in (None, HashingEncoder(64), HashingEncoder(64), HashingEncoder(32), None):
        mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home", encoder)
        (meta,) = (
            meta for meta, published in EmbeddedEngine(tmp_path / "home", collection_of).list("abstracts") if published
        )
        made.append((meta.index, meta.encoders, meta.rows > meta.passages))
    assert [fields for _, fields, _ in made] == [
        {},
        {"dense": HashingEncoder(64).fingerprint},
        {"dense": HashingEncoder(64).fingerprint},
        {"dense": HashingEncoder(32).fingerprint},
        {"dense": HashingEncoder(32).fingerprint},
    ]
    assert [windowed for _, _, windowed in made] == [False, True, True, True, True]
    assert made[1] == made[2]
    assert made[3] == made[4]
    assert len({index for index, _, _ in made}) == 3


def test_an_index_of_other_passages_is_made_anew(tmp_path: Path) -> None:
    labels, home = tmp_path / "labels", tmp_path / "home"
    write_lines(labels / "pairs/claim.jsonl", [PAIR])
    found, indexes = [], []
    reworded = [*TEXTS[:2], replace(TEXTS[2], text="Gardens bloom in spring.", title="Gardens"), *TEXTS[3:]]
    for texts in (TEXTS, [replace(text, id=f"new-{text.id}") for text in TEXTS], reworded, reworded):
        write_lines(labels / "corpora/abstracts.jsonl", texts)
        mine_folder(labels, tmp_path / "out", home)
        (pair,) = read_pairs(tmp_path / "out/claim.jsonl")
        found.append({text.id for text in pair.negatives})
        indexes.append(EmbeddedEngine(home, collection_of).published("abstracts"))
    assert found == [{"t1", "t2", "t5"}, {"new-t1", "new-t2", "new-t5"}, {"t1", "t5"}, {"t1", "t5"}]
    assert len(set(indexes)) == 3
    assert indexes[2] == indexes[3]


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    labels = tmp_path / "labels"
    write_lines(labels / "pairs/claim.jsonl", [PAIR])
    write_lines(labels / "corpora/abstracts.jsonl", [])
    with pytest.raises(InvalidInput, match=r"corpora/abstracts\.jsonl has no passages to mine negatives from"):
        mine_folder(labels, tmp_path / "out", tmp_path / "home")
    write_lines(labels / "pairs/title.jsonl", [])
    with pytest.raises(InvalidInput, match=r"pairs/title\.jsonl has no pairs"):
        mine_folder(labels, tmp_path / "out", tmp_path / "home")
    assert not list((tmp_path / "out").glob("*.jsonl"))


def test_an_encoder_of_surroundings_reads_those_of_the_answers(tmp_path: Path) -> None:
    read: list[str] = []

    class Around(HashingEncoder):
        reads_surroundings = True

        def encode_passages(self, texts):
            read.extend(texts)
            return super().encode_passages(texts)

    labels = tmp_path / "labels"
    write_lines(labels / "corpora/abstracts.jsonl", TEXTS)
    for before in ("An older trial.", "An older trial.", "A newer trial."):
        write_lines(labels / "pairs/claim.jsonl", [replace(PAIR, positive=replace(TEXTS[0], before=(before,)))])
        mine_folder(labels, tmp_path / "out", tmp_path / "home", Around(64))
        (pair,) = read_pairs(tmp_path / "out/claim.jsonl")
        assert {text.id for text in pair.negatives} >= {"t1", "t2", "t5"}
    assert len(read) == 2 * len(TEXTS)  # another text around an answer is another index
    assert [read_window(text).before for text in read[:: len(TEXTS)]] == ["An older trial. ", "A newer trial. "]
    assert (
        alone(read[0])
        == read_window(read[0]).window
        == "Statins and stroke Statins lowered the rate of stroke in older adults."
    )
    assert not any(read_window(text).before for text in read[1 : len(TEXTS)])
    mine_folder(labels, tmp_path / "out", tmp_path / "home", HashingEncoder(64))
    assert len(read) == 2 * len(TEXTS)


def test_lexical_mining_needs_no_encoder(tmp_path: Path) -> None:
    write_lines(tmp_path / "labels/pairs/claim.jsonl", [PAIR])
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS)
    assert mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home") == {"claim": 1}
    (pair,) = read_pairs(tmp_path / "out/claim.jsonl")
    assert {text.id for text in pair.negatives} == {"t1", "t2", "t5"}


def test_pairs_that_came_with_negatives_keep_them(tmp_path: Path) -> None:
    made = replace(PAIR, id="claim:2", query=f"{PAIR.query} Yes", negatives=(TEXTS[4],))
    write_lines(tmp_path / "labels/pairs/claim.jsonl", [PAIR, made])
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS)
    assert mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home") == {"claim": 2}
    found = {pair.id: pair for pair in read_pairs(tmp_path / "out/claim.jsonl")}
    assert found["claim:2"] == made
    assert len(found["claim:1"].negatives) > 1


def test_pairs_with_a_stance_stay_as_they_are_and_need_no_corpus(tmp_path: Path) -> None:
    made = replace(PAIR, task="stance", id="stance:1", corpus="letters", stance="refutes", evidence=((0, 7),))
    write_lines(tmp_path / "labels/pairs/claim.jsonl", [PAIR])
    write_lines(tmp_path / "labels/pairs/stance.jsonl", [made])
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS)
    found = mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home")
    assert found == {"claim": 1, "stance": 1}
    assert list(read_pairs(tmp_path / "out/stance.jsonl")) == [made]


def test_a_folder_without_pairs_says_who_writes_them(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="medley label"):
        mine_folder(tmp_path, tmp_path / "out", tmp_path / "home")


def test_only_the_named_tasks_are_mined(tmp_path: Path) -> None:
    for task in ("claim", "title"):
        made = replace(PAIR, task=task, id=f"{task}:1")
        write_lines(tmp_path / f"labels/pairs/{task}.jsonl", [made])
    write_lines(tmp_path / "labels/corpora/abstracts.jsonl", TEXTS)
    assert mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home", tasks=["title"]) == {"title": 1}
    assert [file.name for file in (tmp_path / "out").glob("*.jsonl")] == ["title.jsonl"]
    with pytest.raises(NotFound, match=r"has no pairs of letter, note$"):
        mine_folder(tmp_path / "labels", tmp_path / "out", tmp_path / "home", tasks=["note", "title", "letter"])


def test_a_heading_alone_is_no_section_of_one_article() -> None:
    told = {key: replace(text, title="", heading="Answer") for key, text in CORPUS.items()}
    pair = replace(PAIR, positive=replace(PAIR.positive, title="", heading="Answer"))
    (found,) = mine([pair], told, [everything], Mining())
    assert {text.id for text in found.negatives} == {"t1", "t2", "t5"}

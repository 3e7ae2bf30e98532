"""Documents label themselves: an affirmed entity and a heading that names a topic find the passage."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from encoders.labels.pairs import Pair, read_pairs, read_texts
from encoders.labels.self_label import label_data, label_documents
from encoders.labels.tasks.entity_aspect import Labelling, cut_passages, label_passages, make_pairs
from mappings import collection as kinds
from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.mining_corpora import CORPUS_KINDS

NOTES = kinds.load("notes")
HISTORY = "She has had gout and asthma for ten years, and no fever or nausea."
GOUT = "Allopurinol was begun for her gout and will be checked in spring."


def note(number: int, *sections: tuple[str, str], title: str = "") -> Document:
    return Document(f"n{number}", title or f"Visit {number}", tuple(Section(*section) for section in sections))


def made(documents: list[Document], **chosen: object) -> tuple[list[Pair], Counter[str]]:
    dropped: Counter[str] = Counter()
    labelling = Labelling(**chosen)  # type: ignore[arg-type]
    found = list(label_passages(cut_passages(documents, NOTES), labelling, dropped))
    return list(make_pairs(found, labelling, "c")), dropped


def test_every_passage_with_entity_and_aspect_is_asked_for() -> None:
    documents = [
        note(1, ("PAST MEDICAL HISTORY", HISTORY), ("PLAN", GOUT)),
        note(2, ("PMH", GOUT), ("PLAN", "Rest and ice for one week, then physiotherapy for two more weeks.")),
    ]
    found, dropped = made(documents, per_passage=2)
    assert {(pair.query, pair.positive.id) for pair in found} == {
        ("gout past medical history", "n1@1#0"),
        ("asthma past medical history", "n1@1#0"),
        ("gout plan", "n1@1#1"),
        ("gout past medical history", "n2@1#0"),
    }
    answers = {pair.query: set(pair.relevant) for pair in found}
    assert answers["gout past medical history"] == {"n1@1#0", "n2@1#0"}
    assert all(pair.positive.id in pair.relevant and pair.corpus == "c" for pair in found)
    assert dropped == {"entity-aspect: passages without an entity": 1, "entity-aspect: mentions that are ruled out": 2}


def test_headings_that_only_order_a_note_carry_no_aspect() -> None:
    found, dropped = made([note(1, ("HISTORY OF PRESENT ILLNESS", HISTORY), ("LABS", GOUT), ("", GOUT))])
    assert found == []
    assert dropped["entity-aspect: passages without an aspect"] == 3


def test_an_unknown_heading_is_an_aspect_when_it_is_a_habit() -> None:
    few = [note(number, ("FOOT CARE TALK", GOUT)) for number in range(2)]
    assert made(few)[0] == []
    assert len(made([*few, note(2, ("Foot care talk:", GOUT))])[0]) == 3


def test_titles_name_entities_and_aspects_keep_their_wording() -> None:
    told = note(1, ("Treatment", "Beet eye is treated with rest, water and a very dark room."), title="Beet eye - 3")
    (pair,) = made([told])[0]
    assert (pair.query, pair.group, pair.positive.heading) == ("Beet eye treatment", "beet eye 3", "Treatment")


def test_a_title_that_the_collection_uses_as_a_word_names_its_own_passages_alone() -> None:
    text = "Sunday walks and gout were talked over with her at length once more."
    others = [note(number, ("PLAN", text)) for number in range(30)]
    found = made([*others, note(99, ("PLAN", text), title="Sunday walks")], per_passage=5)[0]
    assert {pair.positive.id for pair in found if pair.query == "Sunday walks plan"} == {"n99@1#0"}
    assert sum(pair.query == "gout plan" for pair in found) == 31


def test_a_lexicon_of_ones_own_joins_ours() -> None:
    told = note(1, ("Treatment", "Scorbutus and gout were both treated with fruit and plenty of it."))
    assert {pair.query for pair in made([told], per_passage=5, lexicon={"scurvy": ("scorbutus",)})[0]} == {
        "scurvy treatment",
        "gout treatment",
    }


def test_the_draw_is_by_seed() -> None:
    documents = [note(number, ("PLAN", f"{HISTORY} {GOUT}")) for number in range(12)]
    first, again, other = ([pair.query for pair in made(documents, seed=seed)[0]] for seed in (13, 13, 14))
    assert first == again
    assert first != other
    assert set(first) == {"gout plan", "asthma plan"}


def test_the_training_side_of_the_data_sets_labels_itself(data: Path, tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_bytes(orjson.dumps({"pairs": {"scifact": 7}, "corpora": {}, "dropped": {}}))
    counts = label_data(data, tmp_path, Labelling(lexicon={"physiotherapist": ()}))
    found = list(read_pairs(tmp_path / "pairs" / "entity-aspect.jsonl"))
    assert counts["pairs"] == {"entity-aspect": len(found)}
    assert orjson.loads((tmp_path / "counts.json").read_bytes())["pairs"] == {"scifact": 7, "entity-aspect": len(found)}
    assert {pair.corpus for pair in found} == {"entity-aspect-articles", "entity-aspect-notes"} <= CORPUS_KINDS.keys()
    for name in ("articles", "notes"):
        texts = {text.id: text for text in read_texts(tmp_path / "corpora" / f"entity-aspect-{name}.jsonl")}
        assert all(
            texts[p.positive.id] == replace(p.positive, before=(), after=()) for p in found if p.corpus.endswith(name)
        )
    assert "Disease 3 symptoms" in {pair.query for pair in found}
    assert not any("Judged" in pair.query or "d50" in pair.positive.id for pair in found)
    assert counts["dropped"]["health passages near a test passage"] == 1


def test_any_documents_label_themselves_and_nothing_to_label_is_said(tmp_path: Path) -> None:
    counts = label_documents([note(1, ("PLAN", GOUT))], NOTES, tmp_path, Labelling(), None)
    assert counts == {
        "pairs": {"entity-aspect": 1}, "corpora": {"entity-aspect-notes": 1}, "dropped": {},
        "licences": {"entity-aspect": "articles and dialogues CC BY 4.0, notes CC0"},
    }  # fmt: skip
    with pytest.raises(InvalidInput, match=r"no passage has both .*1 entity-aspect: passages without an entity"):
        label_documents([note(1, ("PLAN", "Rest. " * 10))], NOTES, tmp_path, Labelling(), None)
    with pytest.raises(InvalidInput, match="there are no passages"):
        label_documents([], NOTES, tmp_path, Labelling(), None)

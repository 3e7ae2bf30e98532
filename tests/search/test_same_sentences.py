"""Which of the texts that were read a passage holds: the same ones however many there are."""

from __future__ import annotations

import random

from mappings.documents import Passage
from search.ranking.cascade import _best_scores, _holds

CONTEXTS = ("", "A. ", "A. B. ", "Title. ", "Title. A. ")
SENTENCES = ("Fever fell.", "No cough.", "Pain was rare.", "A. B. Fever fell.", "Doses differed.")


def test_each_passage_has_the_best_score_of_all_texts_that_it_holds() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        passages, read = {}, {}
        for number in range(draw.randint(1, 14)):
            text = " ".join(draw.sample(SENTENCES, draw.randint(1, 4)))
            passage = Passage(f"d{number}", 1, 0, "", "", text, draw.choice(CONTEXTS))
            parts = [passage.model_text, passage.context + draw.choice(SENTENCES)]
            passages[passage.id] = passage
            read[passage.id] = {part: round(draw.random(), 3) for part in parts[: draw.randint(1, 2)]}
        everywhere = {text: value for texts in read.values() for text, value in texts.items()}
        expected = {
            name: max(
                [
                    *own.values(),
                    *(everywhere[text] for text in everywhere if text not in own and _holds(passages[name], text)),
                ]
            )
            for name, own in read.items()
        }
        assert _best_scores(read, passages) == expected

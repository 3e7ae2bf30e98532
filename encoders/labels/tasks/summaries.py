"""Plain language: how a summary begins, and its sentences, labelled with the technical text that says the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import is_test_summary, split_of
from mappings.datasets.lay import PlainSentence, PlainSummary, read_sentences, read_summaries, technical_id

SENTENCES: Final = "lay-sentences"
"""The corpus of technical sentences."""
MIN_WORDS: Final = 6
"""A shorter sentence ("The evidence is weak") is said of many reviews."""
_TOPICAL: Final = frozenset({"plaba", "elife"})
"""Sources without lay titles whose summaries begin with what they are about."""


def summary_question(summary: PlainSummary) -> str:
    """The lay title, unless it is the technical one, and the first sentence; "" where that may not name the topic."""
    lay_title = "" if normalise(summary.lay_title) == normalise(summary.title) else summary.lay_title
    if not lay_title and summary.source not in _TOPICAL:
        return ""
    return f"{lay_title} {summary.opening}".strip()


def read_training_summaries(data: Path | None) -> list[PlainSummary]:
    """The summaries of the half that training sees."""
    return [item for item in read_summaries(data) if not is_test_summary(technical_id(item.id))]


def technical_texts(summaries: Iterable[PlainSummary]) -> list[Text]:
    """The technical texts, one for all adaptations."""
    first = {technical_id(item.id): item for item in reversed(list(summaries))}
    return [Text(name, item.title, "", item.technical) for name, item in first.items()]


def label_summaries(summaries: Sequence[PlainSummary]) -> Iterator[Pair]:
    """How a summary begins -> its technical text."""
    texts = {text.id: text for text in technical_texts(summaries)}
    for item in summaries:
        if query := summary_question(item):
            name = technical_id(item.id)
            group = f"lay:{name}"
            yield Pair(
                "summary", f"summary:{item.id}", group, split_of(group), "summaries", query, (name,), texts[name]
            )


def read_training_sentences(data: Path | None, dropped: dict[str, int]) -> list[PlainSentence]:
    """The sentences of the half that training sees, without short ones and those that a lay writer left as they are."""
    found = [item for item in read_sentences(data) if not is_test_summary(technical_id(item.id))]
    kept = [item for item in found if min(len(item.lay.split()), len(item.technical.split())) >= MIN_WORDS]
    told = [item for item in kept if normalise(item.lay) != normalise(item.technical)]
    dropped["lay-sentence: sentences of few words"] += len(found) - len(kept)
    dropped["lay-sentence: sentences with the same words"] += len(kept) - len(told)
    return told


def sentence_texts(found: Iterable[PlainSentence]) -> list[Text]:
    """The distinct technical sentences, numbered within what they are from."""
    return [*_by_words(found).values()]


def _by_words(found: Iterable[PlainSentence]) -> dict[str, Text]:
    texts: dict[str, Text] = {}
    numbers: defaultdict[str, int] = defaultdict(int)
    for item in found:
        words, name = normalise(item.technical), technical_id(item.id)
        if words not in texts:
            texts[words] = Text(f"{name}:{numbers[name]}", "", "", item.technical)
            numbers[name] += 1
    return texts


def label_sentences(found: Sequence[PlainSentence]) -> Iterator[Pair]:
    """Lay sentence -> the technical one that it renders. All of one text are in its group, the summary's."""
    texts = _by_words(found)
    answers: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in found:
        answers[normalise(item.lay)][texts[normalise(item.technical)].id] = None
    for number, item in enumerate(found):
        group = f"lay:{technical_id(item.id)}"
        name = f"lay-sentence:{item.id}:{number}"
        relevant = tuple(answers[normalise(item.lay)])
        text = texts[normalise(item.technical)]
        yield Pair("lay-sentence", name, group, split_of(group), SENTENCES, item.lay, relevant, text)

"""Health articles: a question, or an entity and an aspect, is labelled with the passage that answers it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from encoders.labels.leaks import Twins, name_key, normalise
from encoders.labels.pairs import Pair, Text, surround
from encoders.labels.split import split_of
from encoders.labels.tasks.aspects import AspectNames, aspect_names, choose_name
from mappings.analysis.headings import heading_key
from mappings.datasets.medquad import HealthArticle, read_articles, read_judged_passages, read_questions


def read_training_articles(data: Path | None, dropped: dict[str, int]) -> list[HealthArticle]:
    """The articles that training is allowed to see, without passages that nearly repeat a judged one.

    Articles with a judged passage and articles on a judged entity, under any of its names, are left out, and so are those
    without a title, which name no entity.
    """
    judged = list(read_judged_passages(data))
    judged_articles = {passage.article for passage in judged}
    judged_ids = {passage.id for passage in judged}
    names = read_judged_names(data)
    found = list(read_articles(data))
    guarded = Twins((part.text for article in found for part in article.passages if part.id in judged_ids), 3, 0.8)
    open_articles = [article for article in found if article.id not in judged_articles and name_key(article.title)]
    kept = [article for article in open_articles if name_key(article.title) not in names]
    dropped["health articles on a judged entity, under any of its names"] += len(open_articles) - len(kept)
    return [_without_twins(article, guarded, dropped) for article in kept]


def read_judged_names(data: Path | None) -> frozenset[str]:
    """The names, as `name_key`s, that no training article may have as its title.

    These are the judged entities, all names of the articles on them, and the titles of articles that share one of these
    names: such an article is on the same entity, or on one so near that MedQuAD calls both by one name.
    """
    judged = list(read_judged_passages(data))
    judged_ids = {passage.id for passage in judged}
    asked = (*(passage.entity for passage in judged), *(question.entity for question in read_questions(data)))
    entities = {name_key(name) for name in asked}
    names_by_title: defaultdict[str, set[str]] = defaultdict(set)
    titles = set()
    for article in read_articles(data):
        title = name_key(article.title)
        names_by_title[title] |= {title, *map(name_key, article.synonyms)}
        if title in entities or any(passage.id in judged_ids for passage in article.passages):
            titles.add(title)
    names = entities.union(*(names_by_title[title] for title in titles)) - {""}
    return frozenset(names | {title for title, found in names_by_title.items() if found & names})


def _without_twins(article: HealthArticle, guarded: Twins, dropped: dict[str, int]) -> HealthArticle:
    filled = tuple(passage for passage in article.passages if passage.text.strip())
    kept = tuple(passage for passage in filled if passage.text not in guarded)
    dropped["health passages near a test passage"] += len(filled) - len(kept)
    return replace(article, passages=kept)


def health_texts(articles: Iterable[HealthArticle]) -> list[Text]:
    """One passage for each question; its heading is the question type, never the question."""
    return [
        Text(passage.id, article.title, passage.question_type, passage.text)
        for article in articles
        for passage in article.passages
    ]


def label_health(articles: Sequence[HealthArticle], headings: Iterable[str] = ()) -> Iterator[Pair]:
    """Two pairs for each passage: with its question, and with its entity and one name of the aspect.

    The article's other passages are around it.
    `headings` are those of other training documents, one entry for each use: they name aspects, too.
    """
    texts = health_texts(articles)
    names = aspect_names((text.heading for text in texts), headings)
    answers: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        answers.setdefault((normalise(text.title), text.heading), []).append(text.id)
    for article in articles:
        group = normalise(article.title)
        for passage, text in zip(article.passages, surround(health_texts([article])), strict=True):
            relevant = tuple(answers[group, text.heading])
            for task, query in (("question", passage.question), ("slots", slot_query(text, names))):
                yield Pair(task, f"{task}:{text.id}", group, split_of(group), "health", query, relevant, text)


def slot_query(text: Text, names: AspectNames) -> str:
    """`entity aspect`; the passage's id chooses the aspect's name among those of its heading."""
    return f"{text.title} {choose_name(names[heading_key(text.heading)], text.id)}"

"""Mine hard negatives: passages that rank high but do not answer the query (CLAIMS L4: never random ones).

`mine` is the method, over any rankings; `mine_folder` applies it to what `medley label` wrote, with BM25 and dense
rankings from an engine.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, pair_files, read_pairs, read_texts, write_lines
from encoders.late.surrounded import SurroundedEncoder, reads_surroundings
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.engines.administration import Engine
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.layout import collection_folder
from search.mining_corpora import INDEX_RECORD, LABEL, collection_of, index_corpus
from search.pipeline.retrieve import retrieve
from search.pipeline.services import SearchServices, Trace
from search.protocols import Encoder
from search.query import Query
from search.settings import Settings
from search.understanding.understand import understand

T = TypeVar("T")

Finder = Callable[[Sequence[str], int], Sequence[Sequence[str]]]
"""(queries, depth) -> for each query the ids of the best passages, best first."""

WIDER_CORPORA: Mapping[str, tuple[str, ...]] = {"scifact": ("abstracts",), "check-covid": ("abstracts",)}
"""Task corpus → further corpora to mine: in use, a claim is searched in everything that was published, not only in the few
hundred abstracts of its data set."""

COUNTS = "counts.json"
"""What labelling counted and dropped. It is copied with the pairs, because the model's card repeats it."""


@dataclass(frozen=True, slots=True)
class Mining:
    """How negatives are chosen: `count` per pair, drawn from the first `depth` of every ranking, or the `best` of these.

    `wider` maps a corpus to others in which its pairs are searched, too. `limit` is the most pairs per task, drawn by `seed`.
    """

    count: int = 16
    depth: int = 24
    seed: int = 13
    limit: int = 9000
    best: bool = False
    wider: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(WIDER_CORPORA))


def mine_folder(
    labels: Path,
    out: Path,
    home: Path,
    encoder: Encoder | None = None,
    mining: Mining | None = None,
    tasks: Sequence[str] = (),
) -> dict[str, int]:
    """Mine `labels/pairs/<task>.jsonl` of the tasks, or of all, into `out/<task>.jsonl`; returns the number of pairs by task.

    The corpora in `labels/corpora` are indexed under `home` first, unless an up-to-date index exists. With an encoder, dense
    rankings are added to BM25's, over windows as in a search, so that a reranker trains on what both legs will return.
    An encoder that reads surroundings is shown those of the passages that answer a pair, as training is. Raises `NotFound` if
    `labels` has no pairs, or none of a task, `InvalidInput` for an invalid or empty file.
    """
    mining = mining or Mining()
    encoder = SurroundedEncoder(encoder) if encoder and reads_surroundings(encoder) else encoder
    files = pair_files(labels, tasks)
    counts = {}
    if (labels / COUNTS).is_file():
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(labels / COUNTS, out / COUNTS)
    for file in files:
        pairs = list(read_pairs(file))
        chosen = random.Random(f"{mining.seed}:{file.stem}").sample(pairs, min(mining.limit, len(pairs)))  # noqa: S311
        counts[file.stem] = write_lines(out / file.name, _mine_pairs(chosen, labels, home, encoder, mining))
    return counts


def _mine_pairs(
    pairs: Sequence[Pair], labels: Path, home: Path, encoder: Encoder | None, mining: Mining
) -> Iterator[Pair]:
    """The pairs with negatives; those that have some, as opposites do, or a stance, which needs none, stay as they are."""
    engine = EmbeddedEngine(home, collection_of)
    yield from (pair for pair in pairs if pair.negatives or pair.stance)
    pairs = [pair for pair in pairs if not (pair.negatives or pair.stance)]
    answers = {pair.positive.id: pair.positive for pair in pairs} if isinstance(encoder, SurroundedEncoder) else {}
    for name in sorted({pair.corpus for pair in pairs}):
        corpus: dict[str, Text] = {}
        finders = []
        for source in (name, *mining.wider.get(name, ())):
            texts = read_corpus(labels / "corpora" / f"{source}.jsonl")
            shown = [_surrounded(text, answers.get(text.id)) for text in texts.values()]
            index_corpus(engine, collection_folder(home, source) / INDEX_RECORD, source, shown, encoder)
            finders.append(make_finder(engine, source, encoder))
            corpus = texts | corpus
        yield from mine([pair for pair in pairs if pair.corpus == name], corpus, finders, mining)


def _surrounded(text: Text, answer: Text | None) -> Text:
    """A passage of a corpus with what is around it, where it answers a pair: corpora have passages alone."""
    return text if answer is None else replace(text, before=answer.before, after=answer.after)


def read_corpus(file: Path) -> dict[str, Text]:
    """The passages of a corpus by id. Raises `InvalidInput` for a file that is missing, wrong or empty."""
    texts = {text.id: text for text in read_texts(file)}
    if not texts:
        raise InvalidInput(f"{file} has no passages to mine negatives from: label again", field=file.name)
    return texts


def make_finder(engine: Engine, name: str, encoder: Encoder | None) -> Finder:
    """A finder over the published index of a corpus: the rankings of its legs interleaved, best first.

    It retrieves as a search does, so that a reranker trains on what the legs will return.
    """
    services = SearchServices(
        engine=engine,
        settings=Settings(),
        collection=collection_of,
        encoder=lambda _: encoder,
        reranker=lambda _: None,
        key=b"",
    )
    collection, access = replace(collection_of(name), feedback=None), Access("mining", frozenset({LABEL}))

    def find(queries: Sequence[str], depth: int) -> list[list[str]]:
        searches = [Query(name, access, text) for text in queries]
        if encoder is not None:
            _encode_together(searches, encoder, services)
        found = [retrieve(query, services, Trace(), collection, depth=depth).answer.rankings for query in searches]
        return [
            _interleave([[item.document for item in ranking][:depth] for ranking in rankings.values()])
            for rankings in found
        ]

    return find


def _encode_together(queries: Sequence[Query], encoder: Encoder, services: SearchServices) -> None:
    """Fill the cache of query vectors in one batch, which is faster than encoding each query alone."""
    texts = [understand(query).model_text for query in queries]
    for text, vector in zip(texts, encoder.encode_queries(texts), strict=True):
        services.vectors.put((encoder.fingerprint, text), vector)


def mine(
    pairs: Iterable[Pair], corpus: Mapping[str, Text], finders: Sequence[Finder], mining: Mining, batch: int = 256
) -> Iterator[Pair]:
    """Each pair with negatives from all finders: drawn at random for training, the best-ranked for held-out pairs.

    A passage is not a negative if it is a known answer to the query, repeats the text of one, or has the same title and
    heading as one.
    """
    for group in _batches(pairs, batch):
        rankings = [finder([pair.query for pair in group], mining.depth) for finder in finders]
        for number, pair in enumerate(group):
            found = _interleave([ranking[number] for ranking in rankings])
            usable = [corpus[name] for name in found if name in corpus and not _is_answer(corpus[name], pair, corpus)]
            yield replace(pair, negatives=_choose(pair, usable, mining))


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    group: list[T] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _interleave(rankings: Sequence[Sequence[str]]) -> list[str]:
    longest = max(map(len, rankings), default=0)
    return list(dict.fromkeys(ranking[at] for at in range(longest) for ranking in rankings if at < len(ranking)))


def _is_answer(text: Text, pair: Pair, corpus: Mapping[str, Text]) -> bool:
    if text.id in pair.relevant or text.id == pair.positive.id:
        return True
    known = [corpus[name] for name in pair.relevant if name in corpus] + [pair.positive]
    repeated = any(_normalised_text(text) == _normalised_text(other) for other in known)
    return repeated or any(_has_same_heading(text, other) for other in known)


def _has_same_heading(text: Text, other: Text) -> bool:
    """Whether title and heading are the same: the same text from another source, or the same section of an article.

    A heading without a title says nothing: own pairs may all be called "Answer".
    """
    title = normalise(text.title)
    return bool(title) and (title, text.heading) == (normalise(other.title), other.heading)


@lru_cache(maxsize=65_536)
def _normalised_text(text: Text) -> str:
    return normalise(text.text)


def _choose(pair: Pair, usable: Sequence[Text], mining: Mining) -> tuple[Text, ...]:
    if mining.best or pair.split == "held-out":
        return tuple(usable[: mining.count])
    draw = random.Random(f"{mining.seed}:{pair.id}")  # noqa: S311 - reproducible, not secret
    return tuple(draw.sample(usable, min(mining.count, len(usable))))

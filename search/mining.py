"""Mine hard negatives: passages that rank high but do not answer the query (CLAIMS L4: never random ones).

`mine` is the method, over any rankings; `mine_folder` applies it to what `medley label` wrote, with BM25 and dense
rankings from an engine.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, TypeVar

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, pair_files, read_pairs, read_texts, write_lines
from mappings.analysis.passages import placed_windows
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection, load
from mappings.documents import Access, Passage
from mappings.errors import InvalidInput
from search.engines.administration import Engine
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.layout import collection_folder, write_atomic
from search.pipeline.retrieve import retrieve
from search.pipeline.services import SearchServices, Trace
from search.protocols import Encoder, IndexEntry, IndexMeta
from search.query import Query
from search.settings import Settings
from search.understanding.understand import understand

T = TypeVar("T")

Finder = Callable[[Sequence[str], int], Sequence[Sequence[str]]]
"""(queries, depth) -> for each query the ids of the best passages, best first."""


CORPUS_KINDS: Mapping[str, str] = {
    "health": "articles",
    "notes": "notes",
    "entity-aspect-articles": "articles",
    "entity-aspect-notes": "notes",
    "entity-aspect-reports": "reports",
}
"""Corpus → its collection kind; any other corpus is of kind abstracts."""

TEXT_ONLY = frozenset({"health", "entity-aspect-articles"})
"""Corpora whose passages are ranked by their text alone, without title and heading, as in their evaluation."""

WIDER_CORPORA: Mapping[str, tuple[str, ...]] = {"scifact": ("abstracts",), "check-covid": ("abstracts",)}
"""Task corpus → further corpora to mine: in use, a claim is searched in everything that was published, not only in the few
hundred abstracts of its data set."""

LABEL = "mining"
COUNTS = "counts.json"
"""What labelling counted and dropped. It is copied with the pairs, because the model's card repeats it."""
INDEX_RECORD = "corpus.json"
"""The file beside a corpus's indexes that says which index holds which passages."""


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
    Raises `NotFound` if `labels` has no pairs, or none of a task, `InvalidInput` for an invalid or empty file.
    """
    mining = mining or Mining()
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
    for name in sorted({pair.corpus for pair in pairs}):
        corpus: dict[str, Text] = {}
        finders = []
        for source in (name, *mining.wider.get(name, ())):
            texts = read_corpus(labels / "corpora" / f"{source}.jsonl")
            index_corpus(engine, collection_folder(home, source) / INDEX_RECORD, source, list(texts.values()), encoder)
            finders.append(make_finder(engine, source, encoder))
            corpus = texts | corpus
        yield from mine([pair for pair in pairs if pair.corpus == name], corpus, finders, mining)


def read_corpus(file: Path) -> dict[str, Text]:
    """The passages of a corpus by id. Raises `InvalidInput` for a file that is missing, wrong or empty."""
    texts = {text.id: text for text in read_texts(file)}
    if not texts:
        raise InvalidInput(f"{file} has no passages to mine negatives from: label again", field=file.name)
    return texts


def collection_of(name: str) -> Collection:
    """The collection in which a corpus is indexed for mining."""
    return replace(load(CORPUS_KINDS.get(name, "abstracts")), name=name)


def index_corpus(
    engine: Engine, record: Path, name: str, corpus: Sequence[Text], encoder: Encoder | None, batch: int = 256
) -> None:
    """Index the passages of a corpus, one per document, unless an index of them with these vectors is already published.

    `record` is the file that says which index holds which passages.
    """
    vectors = {"dense": (encoder.fingerprint, encoder.dimension)} if encoder else {}
    digest, recorded = _digest(corpus), _read_record(record)
    if any(
        published and _has_vectors(meta, encoder) and recorded == {"index": meta.index, "passages": digest}
        for meta, published in engine.list(name)
    ):
        return
    meta = engine.create(name, vectors)
    with engine.writer(meta.index) as writer:
        for group in _batches(corpus, batch):
            writer.write(_entries(group, name, encoder))
        writer.commit()
    engine.publish(meta.index)
    write_atomic(record, json.dumps({"index": meta.index, "passages": digest}).encode())


def _digest(corpus: Iterable[Text]) -> str:
    state = sha256(ANALYSIS_VERSION.encode())
    for text in corpus:
        state.update("\x1f".join((text.id, text.title, text.heading, text.text)).encode("utf-8", "replace") + b"\x1d")
    return state.hexdigest()


def _read_record(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _has_vectors(meta: IndexMeta, encoder: Encoder | None) -> bool:
    """Whether the index has the encoder's vectors of the windows that a search uses; True without an encoder."""
    if encoder is None:
        return True
    return (
        meta.encoders == {"dense": encoder.fingerprint} and meta.windows == collection_of(meta.collection).window_words
    )


def _entries(texts: Sequence[Text], name: str, encoder: Encoder | None) -> list[IndexEntry]:
    passages = [_passage(text, name) for text in texts]
    words = collection_of(name).window_words
    parts = [placed_windows(passage, words) if encoder else () for passage in passages]
    vectors = encoder.encode_passages(list(chain.from_iterable(parts))) if encoder else None
    ends = list(accumulate(map(len, parts)))
    return [
        IndexEntry(
            document=passage.document,
            version=1,
            labels=frozenset({LABEL}),
            fields={},
            passages=(passage,),
            vectors={} if vectors is None else {"dense": vectors[end - len(own) : end]},
            windows=(len(own),) if own else (),
        )
        for passage, own, end in zip(passages, parts, ends, strict=True)
    ]


def _passage(text: Text, name: str) -> Passage:
    title, heading = ("", "") if name in TEXT_ONLY else (text.title, text.heading)
    return Passage(text.id, 1, 0, title, heading, text.text, context=f"{title} {heading}".strip())


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
    """Whether title and heading are the same: the same text from another source, or the same section of an article."""
    title = normalise(text.title)
    return bool(title or text.heading) and (title, text.heading) == (normalise(other.title), other.heading)


@lru_cache(maxsize=65_536)
def _normalised_text(text: Text) -> str:
    return normalise(text.text)


def _choose(pair: Pair, usable: Sequence[Text], mining: Mining) -> tuple[Text, ...]:
    if mining.best or pair.split == "held-out":
        return tuple(usable[: mining.count])
    draw = random.Random(f"{mining.seed}:{pair.id}")  # noqa: S311 - reproducible, not secret
    return tuple(draw.sample(usable, min(mining.count, len(usable))))

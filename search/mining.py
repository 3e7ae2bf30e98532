"""Hard negatives: passages that a ranking puts high and that do not answer (CLAIMS L4: never random ones).

`mine` is the method, on any rankings; `mine_folder` runs it over what `medley label` wrote, with BM25 and dense
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
from encoders.labels.pairs import Pair, Text, read_pairs, read_texts, write_lines
from mappings.analysis.passages import windows
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection, load
from mappings.documents import Access, Passage
from mappings.errors import InvalidInput, NotFound
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.layout import collection_folder, write_atomic
from search.pipeline.retrieve import retrieve
from search.pipeline.services import SearchServices, Trace
from search.pipeline.understanding import understand
from search.protocols import Encoder, Engine, IndexEntry, IndexMeta
from search.query import Query
from search.settings import Settings

T = TypeVar("T")

Finder = Callable[[Sequence[str], int], Sequence[Sequence[str]]]
"""(queries, depth) -> for each query the ids of the best passages, best first."""


KINDS: Mapping[str, str] = {
    "health": "articles",
    "notes": "notes",
    "entity-aspect-articles": "articles",
    "entity-aspect-notes": "notes",
    "entity-aspect-reports": "reports",
}
"""The collection kind of a corpus; any other is of kind abstracts."""

TEXT_ONLY = frozenset({"health", "entity-aspect-articles"})
"""Corpora whose candidates are ranked by their text alone, as their evaluation does."""

WIDER: Mapping[str, tuple[str, ...]] = {"scifact": ("abstracts",), "check-covid": ("abstracts",)}
"""A claim is asked of everything that was published, not of the few hundred abstracts that its data set holds."""

LABEL = "mining"
COUNTS = "counts.json"
"""What labelling counted and dropped: it goes along with the pairs, into the card of the model."""
MARK = "corpus.json"
"""Beside a corpus's indexes: which one holds which passages."""


@dataclass(frozen=True, slots=True)
class Mining:
    """How negatives are taken: `count` a pair, drawn without replacement from the first `depth` of every ranking.

    `wider` names the corpora in which negatives are sought beside a pair's own; `limit` mines so many pairs a task,
    drawn by seed.
    """

    count: int = 16
    depth: int = 24
    seed: int = 13
    limit: int = 4500
    wider: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(WIDER))


def mine_folder(
    labels: Path, out: Path, home: Path, encoder: Encoder | None = None, mining: Mining | None = None
) -> dict[str, int]:
    """Mine every `labels/pairs/<task>.jsonl` into `out/<task>.jsonl`; the counts by task.

    The corpora in `labels/corpora` are indexed under `home` first, where they are not there as they are now. With an
    encoder its vectors rank beside BM25, in windows as a collection serves them, so that a reranker trains on what both
    legs will bring it. Raises `NotFound` when `labels` holds no pairs, `InvalidInput` for a bad or empty file.
    """
    mining = mining or Mining()
    files = sorted((labels / "pairs").glob("*.jsonl"))
    if not files:
        raise NotFound(f"{labels} holds no pairs/*.jsonl; `medley label pairs {labels}` writes them", field="labels")
    for file in files:
        if next(read_pairs(file), None) is None:
            raise InvalidInput(f"{file} holds no pairs: label again, or remove it", field=file.name)
    counts = {}
    if (labels / COUNTS).is_file():
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(labels / COUNTS, out / COUNTS)
    for file in files:
        pairs = list(read_pairs(file))
        chosen = random.Random(f"{mining.seed}:{file.stem}").sample(pairs, min(mining.limit, len(pairs)))  # noqa: S311
        counts[file.stem] = write_lines(out / file.name, _mined(chosen, labels, home, encoder, mining))
    return counts


def _mined(pairs: Sequence[Pair], labels: Path, home: Path, encoder: Encoder | None, mining: Mining) -> Iterator[Pair]:
    """The pairs with negatives; those that came with their own, such as opposites, keep them."""
    engine = EmbeddedEngine(home, collection_of)
    yield from (pair for pair in pairs if pair.negatives)
    pairs = [pair for pair in pairs if not pair.negatives]
    for name in sorted({pair.corpus for pair in pairs}):
        corpus: dict[str, Text] = {}
        finders = []
        for source in (name, *mining.wider.get(name, ())):
            texts = _corpus(labels / "corpora" / f"{source}.jsonl")
            fill(engine, collection_folder(home, source) / MARK, source, list(texts.values()), encoder)
            finders.append(finder(engine, source, encoder))
            corpus = texts | corpus
        yield from mine([pair for pair in pairs if pair.corpus == name], corpus, finders, mining)


def _corpus(file: Path) -> dict[str, Text]:
    texts = {text.id: text for text in read_texts(file)}
    if not texts:
        raise InvalidInput(f"{file} holds no passages: negatives are sought there; label again", field=file.name)
    return texts


def collection_of(name: str) -> Collection:
    """The collection in which a corpus is indexed for mining."""
    return replace(load(KINDS.get(name, "abstracts")), name=name)


def fill(
    engine: Engine, mark: Path, name: str, corpus: Sequence[Text], encoder: Encoder | None, batch: int = 256
) -> None:
    """Index the passages of a corpus, one a document, unless an index of them with these vectors is published already.

    `mark` is the file that says which index holds which passages.
    """
    wanted = {"dense": (encoder.fingerprint, encoder.dimension)} if encoder else {}
    held, known = _digest(corpus), _read(mark)
    if any(
        published and _serves(meta, encoder) and known == {"index": meta.index, "passages": held}
        for meta, published in engine.list(name)
    ):
        return
    meta = engine.create(name, wanted)
    with engine.writer(meta.index) as writer:
        for group in _batches(corpus, batch):
            writer.write(_entries(group, name, encoder))
        writer.commit()
    engine.publish(meta.index)
    write_atomic(mark, json.dumps({"index": meta.index, "passages": held}).encode())


def _digest(corpus: Iterable[Text]) -> str:
    state = sha256(ANALYSIS_VERSION.encode())
    for text in corpus:
        state.update("\x1f".join((text.id, text.title, text.heading, text.text)).encode("utf-8", "replace") + b"\x1d")
    return state.hexdigest()


def _read(mark: Path) -> Any:
    try:
        return json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _serves(meta: IndexMeta, encoder: Encoder | None) -> bool:
    if encoder is None:
        return True
    return (
        meta.encoders == {"dense": encoder.fingerprint} and meta.windows == collection_of(meta.collection).window_words
    )


def _entries(texts: Sequence[Text], name: str, encoder: Encoder | None) -> list[IndexEntry]:
    made = [_passage(text, name) for text in texts]
    read = [windows(passage, collection_of(name).window_words) for passage in made] if encoder else [() for _ in made]
    vectors = encoder.encode_passages(list(chain.from_iterable(read))) if encoder else None
    ends = list(accumulate(map(len, read)))
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
        for passage, own, end in zip(made, read, ends, strict=True)
    ]


def _passage(text: Text, name: str) -> Passage:
    title, heading = ("", "") if name in TEXT_ONLY else (text.title, text.heading)
    return Passage(text.id, 1, 0, title, heading, text.text, context=f"{title} {heading}".strip())


def finder(engine: Engine, name: str, encoder: Encoder | None) -> Finder:
    """A finder over the published index of a corpus: the rankings of its legs interleaved, best first.

    It retrieves as a search of the product does, so that a reranker trains on what the legs will return to it.
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
        asked = [Query(name, access, text) for text in queries]
        if encoder is not None:
            _encode_together(asked, encoder, services)
        found = [retrieve(query, services, Trace(), collection, depth=depth).answer.rankings for query in asked]
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
    """Each pair with negatives from all finders; training pairs draw, held-out pairs take the best-ranked.

    A passage is no negative when it is a known answer of the query, repeats the text of one, or has the
    title and heading of one.
    """
    for group in _batches(pairs, batch):
        rankings = [finder([pair.query for pair in group], mining.depth) for finder in finders]
        for number, pair in enumerate(group):
            found = _interleave([ranking[number] for ranking in rankings])
            usable = [corpus[name] for name in found if name in corpus and not _answers(corpus[name], pair, corpus)]
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


def _answers(text: Text, pair: Pair, corpus: Mapping[str, Text]) -> bool:
    if text.id in pair.relevant or text.id == pair.positive.id:
        return True
    known = [corpus[name] for name in pair.relevant if name in corpus] + [pair.positive]
    same = any(_plain(text) == _plain(other) for other in known)
    return same or any(_named_alike(text, other) for other in known)


def _named_alike(text: Text, other: Text) -> bool:
    """Whether title and heading are the same: a twin of an answer from another source, or the same part of an article."""
    title = normalise(text.title)
    return bool(title or text.heading) and (title, text.heading) == (normalise(other.title), other.heading)


@lru_cache(maxsize=65_536)
def _plain(text: Text) -> str:
    return normalise(text.text)


def _choose(pair: Pair, usable: Sequence[Text], mining: Mining) -> tuple[Text, ...]:
    if pair.split == "held-out":
        return tuple(usable[: mining.count])
    draw = random.Random(f"{mining.seed}:{pair.id}")  # noqa: S311 - reproducible, not secret
    return tuple(draw.sample(usable, min(mining.count, len(usable))))

"""Collections and their kinds. A kind's TOML file is the one place that sets granularity, fields and weights."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from mappings import checks
from mappings.errors import InvalidInput, NotFound

FieldType = Literal["keyword", "number", "date"]
Granularity = Literal["document", "section", "passage"]
RESERVED: Final = frozenset(["id", "title", "text", "sections", "labels", "source_version", "deleted"])
"""Keys of a record, which no field can have as its name."""

_FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
METHODS: Final = ("weighted", "rrf")
NORMALISATIONS: Final = ("floor", "minmax", "zscore")
Built = TypeVar("Built")
KINDS = Path(__file__).parent / "collections"


@dataclass(frozen=True, slots=True)
class Field:
    """A document field that queries can filter by and, if `facet`, that results count."""

    name: str
    type: FieldType
    title: str
    facet: bool = False

    def __post_init__(self) -> None:
        if not _FIELD_NAME.fullmatch(self.name) or self.name in RESERVED:
            raise ValueError(
                f"fields.{self.name}: a name must have lowercase letters, digits and _, and must not be a key of the schema"
            )
        checks.one_of(f"fields.{self.name}.type", self.type, get_args(FieldType))
        checks.text(f"fields.{self.name}.title", self.title)
        if not isinstance(self.facet, bool):
            raise ValueError(f"fields.{self.name}.facet must be true or false, not {self.facet!r}")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the rankings of the legs are fused: `weighted` (normalised scores) or `rrf`; weights by leg."""

    method: str
    normalisation: str
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A small cross-encoder that reads all candidates and passes on the best `keep`; `weight` as in `Reranking`."""

    model: str
    keep: int
    weight: float

    def __post_init__(self) -> None:
        checks.text("rerank.first.model", self.model)
        checks.whole("rerank.first.keep", self.keep)
        checks.share("rerank.first.weight", self.weight)


@dataclass(frozen=True, slots=True)
class PassageParts:
    """What a reranker reads of a passage: its `best` windows of at most `words` words, by the query's stems."""

    words: int
    best: int

    def __post_init__(self) -> None:
        checks.whole("rerank.parts.words", self.words)
        checks.whole("rerank.parts.best", self.best)


@dataclass(frozen=True, slots=True)
class Reranking:
    """The cross-encoder of a collection. `weight` is its share of the final score; the fused score has the rest.

    With `first` it is the second of two stages, and reads what the first passes on. With `parts` a passage's score is the
    best score of its parts; without, the passage is read as a whole.
    """

    model: str
    candidates: int
    deadline_ms: int
    weight: float
    first: FirstStage | None = None
    parts: PassageParts | None = None

    def __post_init__(self) -> None:
        checks.text("rerank.model", self.model)
        checks.whole("rerank.candidates", self.candidates, least=0)
        checks.whole("rerank.deadline_ms", self.deadline_ms, least=0)
        checks.share("rerank.weight", self.weight)


@dataclass(frozen=True, slots=True)
class Feedback:
    """Searching twice: the best `passages` of a first search make up this `share` of the query vector of the second."""

    passages: int
    share: float

    def __post_init__(self) -> None:
        checks.whole("feedback.passages", self.passages)
        checks.share("feedback.share", self.share)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named collection of one kind. `shards` and `replicas` apply to its indexes on OpenSearch."""

    name: str
    kind: str
    title: str
    granularity: Granularity
    max_words: int
    window_words: int
    context: tuple[str, ...]
    sections: str
    group_by: str
    default_labels: frozenset[str]
    title_boost: float
    heading_boost: float
    fields: Mapping[str, Field]
    vectors: Mapping[str, str]
    fusion: Fusion
    reranking: Reranking
    feedback: Feedback | None = None
    shards: int = 1
    replicas: int | str = "0-1"

    def __post_init__(self) -> None:
        checks.one_of("passages.granularity", self.granularity, get_args(Granularity))
        checks.one_of("passages.sections", self.sections, ("abstract", "note", "none"))
        checks.one_of("group_by", self.group_by, ("document", *self.fields))
        for name in self.context:
            checks.one_of("passages.context", name, ("title", "heading"))
        checks.text("title", self.title)
        checks.whole("passages.max_words", self.max_words)
        checks.whole("passages.window_words", self.window_words, least=0)
        checks.whole("opensearch.shards", self.shards)
        for name, boost in (("title_boost", self.title_boost), ("heading_boost", self.heading_boost)):
            if not checks.is_number(boost) or boost < 0:
                raise ValueError(f"bm25.{name} must be a number, 0 or more, not {boost!r}")
        for name, model in self.vectors.items():
            checks.text(f"vectors.{name}", model)
            if name == "bm25":
                raise ValueError("vectors.bm25: bm25 is the lexical leg; choose another name")
        _check_fusion(self.fusion, tuple(dict.fromkeys(("bm25", "dense", *self.vectors))))
        if not _is_replicas(self.replicas):
            raise ValueError(
                f"opensearch.replicas must be a whole number, or a range such as '0-2', not {self.replicas!r}"
            )

    @property
    def label(self) -> str:
        """The name to display: the kind's title, and the collection's name where that is another."""
        return self.title if self.name == self.kind else f"{self.title}: {self.name}"

    @property
    def facets(self) -> tuple[str, ...]:
        """The fields that the search page counts."""
        return tuple(name for name, item in self.fields.items() if item.facet)


def _check_fusion(fusion: Fusion, legs: tuple[str, ...]) -> None:
    checks.one_of("fusion.method", fusion.method, METHODS)
    checks.one_of("fusion.normalisation", fusion.normalisation, NORMALISATIONS)
    if not isinstance(fusion.weights, Mapping):
        raise ValueError(f"fusion.weights must be a table of legs and numbers, not {fusion.weights!r}")
    for leg, weight in fusion.weights.items():
        if leg not in legs:
            raise ValueError(f"fusion.weights.{leg}: there is no such leg; the legs are {', '.join(legs)}")
        if not checks.is_number(weight) or weight < 0:
            raise ValueError(f"fusion.weights.{leg} must be a number, 0 or more, not {weight!r}")


def _is_replicas(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"[0-9]-([0-9]|all)", value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def kinds(extra: Path | None = None) -> Mapping[str, Path]:
    """Every known kind and its file. The files in `extra` add to the shipped ones, or replace those of the same name."""
    found = {path.stem: path for path in sorted(KINDS.glob("*.toml"))}
    return found | ({path.stem: path for path in sorted(extra.glob("*.toml"))} if extra else {})


def load(name: str, kind: str | None = None, extra: Path | None = None) -> Collection:
    """The collection `name` of `kind` (by default a kind of that name). Raises `NotFound`, `InvalidInput`."""
    known = kinds(extra)
    kind = kind or name
    if kind not in known:
        raise NotFound(
            f"there is no collection kind {kind!r}; the known kinds are {', '.join(sorted(known))}", field="collection"
        )
    try:
        return _parse(name, kind, tomllib.loads(known[kind].read_text(encoding="utf-8")))
    except KeyError as error:
        raise InvalidInput(f"{known[kind].name}: {error.args[0]} is missing", field="collection") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(f"{known[kind].name}: {error}", field="collection") from error


_TABLES: Final[Mapping[str, Callable[..., Any]]] = {"first": FirstStage, "parts": PassageParts}


def _reranking(data: Mapping[str, Any]) -> Reranking:
    built = {
        name: _build(kind, f"rerank.{name}", data[name]) if data[name] else None
        for name, kind in _TABLES.items()
        if name in data
    }
    return _build(Reranking, "rerank", {**data, **built})


def _build(kind: Callable[..., Built], table: str, data: Mapping[str, Any]) -> Built:
    """The dataclass of a table whose keys are known. Raises `ValueError` for a missing key."""
    for name, parameter in signature(kind).parameters.items():
        if parameter.default is Parameter.empty and name not in data:
            raise ValueError(f"{table}.{name} is missing")
    return kind(**data)


def tuned(collection: Collection, written: Mapping[str, Any]) -> Collection:
    """The collection with the tuned weights in `written` (`[fusion]`, `[rerank]`) instead of its kind's."""
    fusion = replace(collection.fusion, **written.get("fusion", {}))
    changes = written.get("rerank", {})
    built = {
        name: kind(**changes[name]) if changes[name] else None for name, kind in _TABLES.items() if name in changes
    }
    reranking = replace(collection.reranking, **{**changes, **built})
    return replace(collection, fusion=fusion, reranking=reranking)


def _field(name: str, data: object) -> Field:
    if not isinstance(data, Mapping) or (unknown := sorted(data.keys() - {"type", "title", "facet"})):
        wrong = (
            f".{unknown[0]} is not a known key; the known keys are"
            if isinstance(data, Mapping)
            else " must be a table with"
        )
        raise ValueError(f"fields.{name}{wrong} type, title, facet")
    return _build(Field, f"fields.{name}", {"name": name, **data})


def _parse(name: str, kind: str, data: Mapping[str, Any]) -> Collection:
    checks.check_keys("", data)
    if not isinstance(data["vectors"], Mapping):
        raise ValueError(f"vectors must be a table, not {data['vectors']!r}")
    if not isinstance(data["passages"]["context"], list):
        raise ValueError(f"passages.context must be a list, not {data['passages']['context']!r}")
    passages, bm25 = data["passages"], data["bm25"]
    return Collection(
        name=name,
        kind=kind,
        title=data["title"],
        granularity=passages["granularity"],
        max_words=passages["max_words"],
        window_words=passages.get("window_words", 0),
        context=tuple(passages["context"]),
        sections=passages["sections"],
        group_by=data["group_by"],
        default_labels=checks.labels(data["default_labels"]),
        title_boost=bm25["title_boost"],
        heading_boost=bm25["heading_boost"],
        fields={key: _field(key, value) for key, value in data.get("fields", {}).items()},
        vectors=dict(data["vectors"]),
        fusion=_build(Fusion, "fusion", data["fusion"]),
        reranking=_reranking(data["rerank"]),
        feedback=_build(Feedback, "feedback", data["feedback"]) if "feedback" in data else None,
        **data.get("opensearch", {}),
    )

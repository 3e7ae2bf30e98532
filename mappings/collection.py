"""Collections and their kinds. Only a kind's TOML file defines passages, fields, models and weights."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from mappings import checks
from mappings.errors import InvalidInput, NotFound
from mappings.fields import ASPECTS, READ_FIELDS, Field, FieldType
from mappings.marking import Marking
from mappings.stages import AnswerWeights, Feedback, FirstStage, Fusion, PassageParts, Reranking, StanceReader

Granularity = Literal["document", "section", "passage"]
DISCOURSE: Final = "discourse"
"""The vector field, and the leg, of documents that are read as a whole, sentence by sentence."""

RESERVED_LEGS: Final = {"bm25": "the lexical leg", DISCOURSE: "the leg of the model that [discourse] names"}
FUSION_METHODS: Final = ("weighted", "rrf")
FUSION_NORMALISATIONS: Final = ("floor", "minmax", "zscore")
Built = TypeVar("Built")
SHIPPED_KINDS: Final = Path(__file__).parent / "collections"
"""The folder with a TOML file for each shipped kind."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named collection, with everything that its kind defines.

    `title` is the kind's display name. `granularity` says what a passage is, `max_words` how long it can be; `window_words`
    is the length of the windows that get their own vectors (0: one vector per passage). `context` (of title and heading) is
    what models read before a passage. `sections` says how headings are detected. With `concepts`, documents are read at
    ingestion: which concepts they mention, and what they assert of them; with `reads_queries`, so are the texts of queries.
    With `studies`, the kind of study that a document reports is read from it (`mappings.studies`), and versions of one work
    form one hit. `group_by` is `document`, or the field whose documents of one value form one hit. `default_labels` are for
    documents without labels.

    `title_boost` and `heading_boost` say what title and heading add to BM25's score, `name_weight` (0: nothing) what another
    name of what a query names counts beside the typed one. `fields` maps names to fields, `vectors` each vector field to its
    bi-encoder, `discourse` is the model of the leg of that name ("": none); `marking` (None: not used) is how these tell
    what a text rules out. `fusion`, `reranking`, `feedback` and `stance` (None: not used) say how it is searched, `answers`
    (None: not told) how probable it is that a hit answers. With `private_queries` the search page keeps searches out of
    addresses. OpenSearch uses `shards`, `replicas`, `vector_bits`. `invented` (documents are made up) comes from the catalog, not from the
    kind.
    """

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
    stance: StanceReader | None = None
    answers: AnswerWeights | None = None
    marking: Marking | None = None
    discourse: str = ""
    shards: int = 1
    replicas: int | str = "0-1"
    vector_bits: int = 32
    private_queries: bool = False
    invented: bool = False
    concepts: bool = False
    reads_queries: bool = False
    studies: bool = False
    name_weight: float = 0.0

    def __post_init__(self) -> None:
        checks.check_one_of("passages.granularity", self.granularity, get_args(Granularity))
        checks.check_one_of("passages.sections", self.sections, ("abstract", "note", "none"))
        checks.check_one_of("group_by", self.group_by, ("document", *self.fields))
        for name in self.context:
            checks.check_one_of("passages.context", name, ("title", "heading"))
        checks.check_text("title", self.title)
        checks.check_whole("passages.max_words", self.max_words)
        checks.check_whole("passages.window_words", self.window_words, least=0)
        checks.check_whole("opensearch.shards", self.shards)
        for name in ("title_boost", "heading_boost", "name_weight"):
            checks.check_weight(f"bm25.{name}", getattr(self, name))
        if self.name_weight and not self.concepts:
            raise ValueError("bm25.name_weight needs passages.concepts = true: the lexicon of concepts has the names")
        for name, model in self.vectors.items():
            checks.check_text(f"vectors.{name}", model)
            if name in RESERVED_LEGS:
                raise ValueError(f"vectors.{name}: {name} is {RESERVED_LEGS[name]}; choose another name")
        legs = tuple(dict.fromkeys(("bm25", "dense", *self.vectors, DISCOURSE)))
        checks.check_one_of("fusion.method", self.fusion.method, FUSION_METHODS)
        checks.check_one_of("fusion.normalisation", self.fusion.normalisation, FUSION_NORMALISATIONS)
        checks.check_leg_weights(self.fusion.weights, legs)
        checks.check_replicas("opensearch.replicas", self.replicas)
        checks.check_vector_bits("opensearch.vector_bits", self.vector_bits)
        checks.check_flag("private_queries", self.private_queries)
        checks.check_flag("passages.concepts", self.concepts)
        checks.check_flag("reads_queries", self.reads_queries)
        checks.check_flag("passages.studies", self.studies)

    @property
    def label(self) -> str:
        """The name to display: the kind's title, followed by the collection's name if it differs from the kind's."""
        return self.title if self.name == self.kind else f"{self.title}: {self.name}"

    @property
    def index_fields(self) -> Mapping[str, FieldType]:
        """Name -> type of every field by which an index of this collection can filter and count."""
        own = {name: item.type for name, item in self.fields.items()}
        return {**own, ASPECTS: "keyword", **(READ_FIELDS if self.concepts else {})}

    @property
    def facets(self) -> tuple[str, ...]:
        """The names of the fields whose values the search page counts."""
        return tuple(name for name, item in self.fields.items() if item.facet)


def kinds(extra: Path | None = None) -> Mapping[str, Path]:
    """Every known kind and its file. Files in the folder `extra` add to the shipped ones or, by the same name, replace them."""
    found = {path.stem: path for path in sorted(SHIPPED_KINDS.glob("*.toml"))}
    return found | ({path.stem: path for path in sorted(extra.glob("*.toml"))} if extra else {})


def load(name: str, kind: str | None = None, extra: Path | None = None) -> Collection:
    """The collection `name` of `kind`, by default the kind of the same name; `extra` is a folder with further kinds.

    Raises `NotFound` for an unknown kind, `InvalidInput` for a file that is not valid, with the key and the value.
    """
    known = kinds(extra)
    kind = kind or name
    if kind not in known:
        raise NotFound(
            f"there is no collection kind {kind!r}; the known kinds are {', '.join(sorted(known))}", field="collection"
        )
    try:
        return _parse_collection(name, kind, tomllib.loads(known[kind].read_text(encoding="utf-8")))
    except KeyError as error:
        raise InvalidInput(f"{known[kind].name}: {error.args[0]} is missing", field="collection") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(f"{known[kind].name}: {error}", field="collection") from error


_RERANK_TABLES: Final[Mapping[str, Callable[..., Any]]] = {"first": FirstStage, "parts": PassageParts}


def _parse_reranking(data: Mapping[str, Any]) -> Reranking:
    built = {
        name: _build(cls, f"rerank.{name}", data[name]) if data[name] else None
        for name, cls in _RERANK_TABLES.items()
        if name in data
    }
    return _build(Reranking, "rerank", {**data, **built})


def _build(cls: Callable[..., Built], table: str, data: Mapping[str, Any]) -> Built:
    """Build the dataclass of a table whose keys are known. Raises `ValueError` for a missing key."""
    for name, parameter in signature(cls).parameters.items():
        if parameter.default is Parameter.empty and name not in data:
            raise ValueError(f"{table}.{name} is missing")
    return cls(**data)


def with_tuned_weights(collection: Collection, tuned: Mapping[str, Any]) -> Collection:
    """The collection with the weights that tuning wrote (its tables `fusion` and `rerank`) instead of its kind's."""
    fusion = replace(collection.fusion, **tuned.get("fusion", {}))
    changes = tuned.get("rerank", {})
    built = {
        name: cls(**changes[name]) if changes[name] else None for name, cls in _RERANK_TABLES.items() if name in changes
    }
    reranking = replace(collection.reranking, **{**changes, **built})
    return replace(collection, fusion=fusion, reranking=reranking)


def _parse_field(name: str, data: object) -> Field:
    return _build(Field, f"fields.{name}", {"name": name, **checks.parse_field_table(name, data)})


def _parse_discourse(data: Mapping[str, Any]) -> str:
    checks.check_text("discourse.model", data["model"])
    return str(data["model"])


def _parse_collection(name: str, kind: str, data: Mapping[str, Any]) -> Collection:
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
        default_labels=checks.parse_labels(data["default_labels"]),
        title_boost=bm25["title_boost"],
        heading_boost=bm25["heading_boost"],
        name_weight=bm25.get("name_weight", 0.0),
        fields={key: _parse_field(key, value) for key, value in data.get("fields", {}).items()},
        vectors=dict(data["vectors"]),
        fusion=_build(Fusion, "fusion", data["fusion"]),
        reranking=_parse_reranking(data["rerank"]),
        feedback=_build(Feedback, "feedback", data["feedback"]) if "feedback" in data else None,
        stance=_build(StanceReader, "stance", data["stance"]) if "stance" in data else None,
        answers=_build(AnswerWeights, "answers", data["answers"]) if "answers" in data else None,
        marking=_build(Marking, "passages.marking", passages["marking"]) if "marking" in passages else None,
        discourse=_parse_discourse(data["discourse"]) if "discourse" in data else "",
        private_queries=data.get("private_queries", False),
        concepts=passages.get("concepts", False),
        studies=passages.get("studies", False),
        reads_queries=data.get("reads_queries", False),
        **data.get("opensearch", {}),
    )

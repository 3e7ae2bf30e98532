"""What the plug-in makes on a cluster for one kind of collection: models, pipelines and an index template, as JSON.

A document goes through the ingest pipeline: the model server reads it, and its vectors, other words and assertions stand in
the object `medley` of the document. A search is a `hybrid` query of a `bool` with a `match` and of a `neural` query. The
search pipeline lets the model server write the `match` (other names, abbreviations, as Medley's lexical leg), gives the
second its model, fuses both as the kind does, and lets the model server score the best hits. OpenSearch hands a model the
source of the hits but not their scores; so hits are first reranked by a number that all share, `medley.tie`, which writes
the fused score into the source as `previous_score`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mappings.collection import Collection
from mappings.errors import InvalidInput
from mappings.indexes import ANALYSIS, MAX_KEYWORD_CHARACTERS, TEXT, vector_field
from search.engines.opensearch.plugin.marks import mark, token_mark
from search.engines.opensearch.plugin.queries import OWN

STEPS: Final = ("documents", "queries", "vectors", "scores", "rerank")
"""The models, each an address of the model server (`web.inference.pipeline_server`)."""

SHOWN: Final = 10
"""Hits of a page that is not asked for otherwise; it decides how many times as many are reranked."""

_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_*.-]{0,199}")
_STEPS: Final = "/opensearch/"
"""Between the model server's address and KIND/STEP."""
FAMILY: Final = "medley-"
"""The beginning of the names of all that the plug-in makes, of every kind."""
_READ: Final = """
String joined(def value) {
  if (value == null) { return ''; }
  if (value instanceof Map) { throw new IllegalArgumentException('title and text must be texts, or lists of texts'); }
  if (!(value instanceof List)) { return value.toString(); }
  StringBuilder all = new StringBuilder();
  for (part in value) {
    String read = joined(part);
    if (!read.isEmpty()) { all.append(all.length() > 0 ? '\n\n' : '').append(read); }
  }
  return all.toString();
}
List told(def value) {
  String read = joined(value);
  if (read.contains('${parameters.') || read.contains('${ml_inference.')) {
    throw new IllegalArgumentException('a title or text has ${parameters. or ${ml_inference., which ML Commons would replace');
  }
  return [read];
}
for (name in [params.title, params.text]) { if (ctx[name] == null) { ctx[name] = ''; } }
ctx.medley = ['title': told(ctx[params.title]), 'text': told(ctx[params.text])];
"""
"""Documents that could break the searches that find them are refused: ML Commons fills variables in what it fills in, too.

Each text is a list of one, since ML Commons does not quote a text that is JSON itself, such as a title in brackets.
"""
_ADDED: Final = (
    "windows", "also", "title_words", "heading_words", "aspects", "proves", "present", "ruled_out", "tie",
    "encoder",
)  # fmt: skip

_INPUTS: Final[Mapping[str, str]] = {
    "documents": '{"title": ${parameters.title}, "text": ${parameters.text}}',
    "queries": '{"match": ${parameters.match}}',
    "vectors": '{"inputs": ${parameters.input}}',
    "scores": (
        '{"query": ${parameters.query}, "titles": ${parameters.titles}, "texts": ${parameters.texts}, '
        '"fused": ${parameters.fused}, "encoders": ${parameters.encoders}}'
    ),
    "rerank": '{"query": "${parameters.query}", "documents": ${parameters.documents}}',
}
_CLIENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "documents": {
        "max_connection": 32,  # of a node: as many as the model server lets be read or wait (`web.inference.turns`)
        "read_timeout": 300,  # seconds: a document of a thousand windows takes a minute on two cores
        "max_retry_times": -1,  # of refusals alone, until the next one has run out
        "retry_timeout_seconds": 600,
        "retry_backoff_millis": 500,
    }
}
"""How a node asks for a step, where ML Commons' defaults (30 connections, ten seconds, no further try) fail bulk requests."""
_DYNAMIC_KEYWORD_CHARACTERS: Final = 256
"""As in the field `keyword` that OpenSearch gives to a text without a mapping, which dashboards of such an index use."""
_CONVERTED: Final = {"vectors": "default.embedding", "rerank": "cohere.rerank"}
"""Step -> the functions of ML Commons that convert its inputs and outputs, for processors that bring their own form."""


@dataclass(frozen=True, slots=True)
class PluginPlan:
    """A kind, the model server that reads and ranks for it, and the indexes that are to have it.

    `endpoint` is the server's address as the nodes of the cluster reach it, `token` what it wants ("": nothing). `title` and
    `text` are the fields of the documents that are read; indexes whose names match `pattern` get the template, before others
    of a lower `priority`. Raises `InvalidInput` for an address, a field or a pattern that can't be one.
    """

    kind: Collection
    endpoint: str
    pattern: str = ""
    token: str = ""
    title: str = "title"
    text: str = "text"
    priority: int = 100

    def __post_init__(self) -> None:
        if not self.endpoint.startswith(("http://", "https://")):
            raise InvalidInput(
                f"the model server's address is {self.endpoint!r}; give http://HOST:PORT", field="endpoint"
            )
        for name in (self.title, self.text):
            if not _FIELD.fullmatch(name) or name == OWN:
                raise InvalidInput(
                    f"{name!r} can't be read: name a field at the top of the documents, other than {OWN!r}",
                    field="field",
                )
        if self.title == self.text:
            raise InvalidInput(f"title and text are the same field, {self.text!r}", field="field")
        if self.pattern and not _NAME.fullmatch(self.pattern):
            raise InvalidInput(f"no index can have a name like {self.pattern!r}", field="pattern")

    @property
    def name(self) -> str:
        """The name of the pipelines and of the template, and the beginning of the models' names."""
        return f"{FAMILY}{self.kind.kind}"

    @property
    def indexes(self) -> str:
        """The pattern of the names of the indexes that get the template."""
        return self.pattern or f"{self.name}-*"

    @property
    def trusted(self) -> str:
        """The regular expression by which the cluster trusts the model server's addresses."""
        return trusted_by(self.endpoint)

    def model(self, step: str) -> str:
        """The name of a step's model, and of its connector."""
        return f"{self.name}-{step}"


def trusted_by(endpoint: str) -> str:
    """The regular expression for the addresses of the model server at `endpoint`."""
    return f"^{re.escape(endpoint.rstrip('/'))}/.*$"


def endpoint_of(address: str) -> str:
    """The model server's address in that of a step, as `connector` writes it."""
    return address.rpartition(_STEPS)[0]


def connector(plan: PluginPlan, step: str) -> dict[str, Any]:
    """The connector of a step. The cluster keeps the token encrypted, and shows it to nobody."""
    address = f"{plan.endpoint.rstrip('/')}{_STEPS}{plan.kind.kind}/{step}"
    headers = {"Content-Type": "application/json"}
    action: dict[str, Any] = {"action_type": "predict", "method": "POST", "url": address, "headers": headers}
    action["request_body"] = _INPUTS[step]
    if step in _CONVERTED:
        action["pre_process_function"] = f"connector.pre_process.{_CONVERTED[step]}"
        action["post_process_function"] = f"connector.post_process.{_CONVERTED[step]}"
    body = {"name": plan.model(step), "version": "1", "protocol": "http", "parameters": {}, "actions": [action]}
    if step in _CLIENTS:
        body["client_config"] = dict(_CLIENTS[step])
    description = mark(body) + token_mark(plan.token)
    if plan.token:
        headers["Authorization"] = "Bearer ${credential.token}"
    credential = {"token": plan.token or "none"}  # there must be one, even if nothing uses it
    return {**body, "credential": credential, "description": description}


def ingest_pipeline(plan: PluginPlan, models: Mapping[str, str]) -> dict[str, Any]:
    """The pipeline that has each document read; a document that can't be read is refused, with the reason."""
    read = {"source": _READ, "params": {"title": plan.title, "text": plan.text}}
    inference = {
        "model_id": models["documents"],
        "function_name": "remote",
        "input_map": [{"title": f"{OWN}.title", "text": f"{OWN}.text"}],
        "output_map": [{f"{OWN}.{name}": name for name in _ADDED}],
        "override": True,
    }
    processors = [
        {"script": read},
        {"ml_inference": inference},
        {"remove": {"field": [f"{OWN}.title", f"{OWN}.text"]}},
    ]
    return {"description": mark(processors), "processors": processors}


def search_pipeline(plan: PluginPlan, models: Mapping[str, str]) -> dict[str, Any]:
    """The pipeline of hybrid searches. Raises `InvalidInput` for a kind whose fusion OpenSearch does not have."""
    typed, text = "query.hybrid.queries[0].bool.must[0]", "ext.ml_inference.params.text"
    understand = {
        "tag": "understand",
        "model_id": models["queries"],
        "function_name": "remote",
        "input_map": [{"match": f"{typed}.match"}],
        "output_map": [{typed: "query", text: "text"}],
    }
    of_hits = {"titles": plan.title, "texts": plan.text, "fused": "previous_score", "encoders": f"{OWN}.encoder"}
    score = {
        "tag": "score",
        "model_id": models["scores"],
        "function_name": "remote",
        "one_to_one": False,
        "input_map": [{**of_hits, "query": f"$._request.{text}"}],
        "output_map": [{"medley_score": "scores"}],
    }
    by_tie = {"target_field": f"{OWN}.tie", "keep_previous_score": True}
    by_score = {"target_field": "medley_score", "remove_target_field": True}
    factor = max(1.0, plan.kind.reranking.candidates / SHOWN)
    body = {
        "request_processors": [
            {"ml_inference": understand},
            {"neural_query_enricher": {"default_model_id": models["vectors"]}},
            {"oversample": {"sample_factor": factor}},
        ],
        "phase_results_processors": [{"normalization-processor": fusion_parameters(plan.kind)}],
        "response_processors": [
            {"rerank": {"by_field": by_tie}},
            {"ml_inference": score},
            {"rerank": {"by_field": by_score}},
            {"truncate_hits": {}},
        ],
    }
    return {"description": mark(body), **body}


def fusion_parameters(kind: Collection) -> dict[str, Any]:
    """The weighted sum of a kind as a normalisation processor computes it. Raises `InvalidInput` for another fusion.

    Theoretical min-max is from the floor of each leg's score, which is 1 for inner products.
    """
    fusion = kind.fusion
    if fusion.method != "weighted" or fusion.normalisation not in ("floor", "minmax"):
        raise InvalidInput(
            f"the kind {kind.kind!r} fuses by {fusion.method} of {fusion.normalisation} scores, which no pipeline does here: "
            "use weighted sums of floor or minmax",
            field="kind",
        )
    (dense,) = kind.vectors
    weights = [fusion.weights.get("bm25", 0.0), fusion.weights.get(dense, 0.0)]
    shares = [weight / sum(weights) for weight in weights]
    normalisation: dict[str, Any] = {"technique": "min_max"}
    if fusion.normalisation == "floor":
        floors = [{"mode": "clip", "min_score": floor} for floor in (0.0, 1.0)]
        normalisation["parameters"] = {"lower_bounds": floors}
    return {
        "normalization": normalisation,
        "combination": {"technique": "arithmetic_mean", "parameters": {"weights": shares}},
    }


def index_template(plan: PluginPlan, dimension: int) -> dict[str, Any]:
    """The template of the indexes: our analysis and fields, beside whatever else the documents have."""
    keyword: dict[str, Any] = {"type": "keyword", "ignore_above": MAX_KEYWORD_CHARACTERS}
    whole = {"keyword": {"type": "keyword", "ignore_above": _DYNAMIC_KEYWORD_CHARACTERS}}
    searched = {"type": "text", "analyzer": TEXT}
    words = {**searched, "index_options": "freqs"}
    own = {
        "content": searched,
        "title_words": words,
        "heading_words": words,
        "also": {"type": "text", "index": False, "norms": False, "copy_to": f"{OWN}.content"},
        "proves": keyword,
        "present": keyword,
        "ruled_out": keyword,
        "aspects": keyword,
        "encoder": keyword,
        "tie": {"type": "float", "index": False},
        "windows": {"type": "nested", "properties": {"vector": vector_field(dimension)}},
    }
    fields = {
        plan.title: {**searched, "fields": whole, "copy_to": [f"{OWN}.content", f"{OWN}.title_words"]},
        plan.text: {**searched, "fields": whole, "copy_to": f"{OWN}.content"},
        OWN: {"properties": own},
    }
    settings = {"index": {"knn": True, "default_pipeline": plan.name}, "analysis": ANALYSIS}
    body = {
        "index_patterns": [plan.indexes],
        "priority": plan.priority,
        "template": {"settings": settings, "mappings": {"properties": fields}},
    }
    return {**body, "_meta": {"description": mark(body)}}

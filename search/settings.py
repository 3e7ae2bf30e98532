"""All settings, each with its variable, its default and its meaning. They are read once, at start-up."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mappings.errors import InvalidInput

FILE = "medley.toml"


def _setting(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """Medley's settings. Variables `MEDLEY_<NAME>` take precedence over `medley.toml`, and that over the defaults."""

    home: Path = _setting(Path(".medley"), "folder of the embedded store and indexes, the tokens and the logs")
    models: Path | None = _setting(
        None, "folder of additional model directories; its models take precedence over shipped ones of the same name"
    )
    collections: Path | None = _setting(None, "folder of additional collection kinds (TOML)")
    data: Path | None = _setting(
        None, "folder of the data sets for training and evaluation; commands that need one fail without it"
    )
    session_idle_minutes: int = _setting(
        30, "minutes without a request after which a browser's session ends; 0: it may idle until it ends anyway"
    )
    session_hours: int = _setting(12, "hours after which a browser's session ends, used or not")
    proxies: str = _setting(
        "",
        "addresses or networks of the reverse proxies whose X-Forwarded-For is believed, comma-separated; empty: none is",
    )
    access_log_sync: int = _setting(0, "1: write each line of the access log through to disk before the answer is sent")
    lexicons: Path | None = _setting(
        None, "folder with your own lexicons of concepts (`*.tsv`), which are read beside the shipped one"
    )
    opensearch: str = _setting(
        "", "addresses of an OpenSearch cluster, such as https://host:9200, comma-separated; empty: the embedded engine"
    )
    opensearch_user: str = _setting("", "user name for the cluster")
    opensearch_password_file: Path | None = _setting(None, "file with the password of that user")
    opensearch_api_key_file: Path | None = _setting(None, "file with an API key, instead of user name and password")
    opensearch_ca: Path | None = _setting(
        None, "certificate of the authority that signed the cluster's; empty: the authorities that the system trusts"
    )
    opensearch_prefix: str = _setting("medley", "prefix of the name of every index on the cluster")
    redis: str = _setting(
        "",
        "address of the Redis that holds the queue, such as redis://host:6379/0; empty: no queue, `medley ingest` indexes",
    )
    redis_password_file: Path | None = _setting(None, "file with the password of that Redis")
    backlog: int = _setting(
        100_000, "most changes waiting to be indexed; above it the gateway rejects new ones for a while"
    )
    delivery_bytes: int = _setting(
        2_000_000_000, "most bytes, once decompressed, that one `POST /v1/documents` can contain; 0: any number"
    )
    delivery_lines: int = _setting(
        1_000_000, "most lines, empty ones included, that one `POST /v1/documents` can contain; 0: any number"
    )
    retention_days: int = _setting(
        0, "days after which replaced and deleted documents are removed for ever; 0: only `medley purge` does so"
    )
    encoder: str = _setting(
        "", "bi-encoder for new indexes instead of the collection's own; 'hashing-256' needs no model"
    )
    discourse: str = _setting(
        "", "discourse model for new indexes instead of the collection's own; 'none': no leg of that name"
    )
    reranker: str = _setting(
        "",
        "cross-encoder or poly-encoder that reranks alone, instead of the collection's own one or two; 'none': no reranking",
    )
    stance: str = _setting(
        "",
        "model that reads what hits say of a claim, in kinds that have one; empty: the kind's; 'none': nothing is read, "
        "which is also so without a reranker",
    )
    threads: int = _setting(0, "threads per model in this process; 0: one per core")
    form: str = _setting(
        "", "numeric form of the models (fp32, int8, fp16); empty: the fastest, measured once; fp16 on a GPU"
    )
    device: str = _setting("", "where models run: cpu or cuda; empty: cuda where ONNX Runtime supports it")
    vector_cache_bytes: int = _setting(
        10_000_000_000, "most bytes on disk of the cache of passage vectors; 0: any number"
    )
    inference: str = _setting(
        "", "addresses of model servers, such as http://host:8081, comma-separated; empty: models run in this process"
    )
    inference_token_file: Path | None = _setting(None, "file with the token for the model servers")
    deadline_ms: int = _setting(0, "deadline of reranking in milliseconds; 0: the collection's own")
    max_deadline_ms: int = _setting(
        10_000, "longest deadline of one search over HTTP in milliseconds; a longer one is reduced to it; 0: none"
    )
    batch_deadline_ms: int = _setting(
        20_000, "time for reranking in milliseconds that the searches of one batch share; 0: no limit"
    )
    batch_candidates: int = _setting(2_500, "most candidates that the searches of one batch rerank in all; 0: no limit")
    cohort_patients: int = _setting(
        100_000, "most patients of a cohort that one request compares or exports; 0: any number"
    )
    candidates: int = _setting(0, "passages that are reranked, by the first of two stages; 0: the collection's own")
    window: int = _setting(
        100, "documents that each leg returns, and size of the result window that pages are frozen over"
    )
    cursor_minutes: int = _setting(60, "minutes that the cursor of a later page is valid")
    traces: str = _setting(
        "",
        "address of an OpenTelemetry collector (OTLP over HTTP), such as http://host:4318, which gets the traces of gateway, "
        "workers and model servers; empty: none are made",
    )

    def as_json(self) -> dict[str, Any]:
        """Names and values, paths as text."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}


def describe() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting, for the command line and the test of the documentation."""
    return [
        (f"MEDLEY_{item.name.upper()}", str(_plain(item.default) or ""), item.metadata["meaning"])
        for item in fields(Settings)
    ]


def read(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """The settings from the environment and `medley.toml` in `folder`. Raises `InvalidInput` naming the setting."""
    environ = os.environ if environ is None else environ
    file = (folder or Path()) / FILE
    written = _from_file(file) if file.is_file() else {}
    values = {}
    for item in fields(Settings):
        variable = f"MEDLEY_{item.name.upper()}"
        if raw := environ.get(variable, ""):
            values[item.name] = _convert(raw, item.type, variable)
        elif item.name in written:
            values[item.name] = _convert(str(written[item.name]), item.type, f"{FILE}: {item.name}")
    return Settings(**values)


def _from_file(file: Path) -> dict[str, Any]:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}", field=FILE) from error
    known = {item.name for item in fields(Settings)}
    if unknown := sorted(set(written) - known):
        raise InvalidInput(
            f"{file}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}", field=unknown[0]
        )
    return written


def _convert(raw: str, kind: Any, name: str) -> Any:
    if "Path" in str(kind):
        return Path(raw).expanduser()
    if kind in (int, "int"):
        if not raw.strip().isdecimal():
            raise InvalidInput(f"{name} is {raw!r}; it must be a whole number, 0 or more", field=name)
        return int(raw)
    return raw


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value

"""The connection to an OpenSearch cluster: JSON both ways, retries with jitter for idempotent requests, our errors."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException
from opensearchpy.serializer import Serializer

from mappings.errors import InvalidInput, Unavailable
from search.engines.opensearch.errors import is_transient, translate
from search.tracing import spans

Items = TypeVar("Items", bound=Sized)
Params = Mapping[str, str]
NONE: Final[Params] = {}
WHOLE: Final[Params] = {"allow_partial_search_results": "false"}
"""A search that some shard can't answer is an error, never a smaller answer."""

READ_SECONDS: Final = 2.0
"""How long a read is retried while a user waits: a search that takes longer is useless."""

WRITE_SECONDS: Final = 120.0
"""How long a write is retried: a node that restarts is back by then."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Connection:
    """The addresses of the cluster and our credentials.

    The name of every index of ours starts with `prefix`. A read is abandoned after `read_seconds`, and retried for
    `patience` seconds while its error is transient.
    """

    hosts: tuple[str, ...]
    prefix: str = "medley"
    user: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    ca: Path | None = None
    read_seconds: float = 10.0
    patience: float = READ_SECONDS

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not host.startswith(("http://", "https://")):
                raise InvalidInput(
                    f"MEDLEY_OPENSEARCH takes addresses such as https://host:9200, not {host!r}",
                    field="MEDLEY_OPENSEARCH",
                )
        if len({host.startswith("https://") for host in self.hosts}) > 1:
            raise InvalidInput(
                "MEDLEY_OPENSEARCH mixes http and https: certificates would be checked for none of its addresses",
                field="MEDLEY_OPENSEARCH",
            )
        if self.ca is not None and not self.ca.is_file():
            raise InvalidInput(f"the certificate file {self.ca} does not exist", field="MEDLEY_OPENSEARCH_CA")


def no_check() -> None:
    """The check before the attempts of a request that can be sent at any time."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How long a request is retried. `before` is called before every attempt; what it raises ends them."""

    seconds: float = WRITE_SECONDS
    before: Callable[[], None] = no_check


_WRITE_RETRIES: Final = Retries()


class OrjsonSerializer(Serializer):
    """JSON by orjson; bytes are sent unchanged."""

    mimetype = "application/json"

    def dumps(self, data: Any) -> Any:
        """`data` as JSON bytes."""
        return data if isinstance(data, bytes | str) else orjson.dumps(data)

    def loads(self, s: str) -> Any:
        """The value of a JSON text."""
        return orjson.loads(s)


logging.getLogger("opensearch").setLevel(logging.CRITICAL)  # its errors are raised as ours, so they need no log line


class Cluster:
    """Requests to one cluster. Thread-safe. Every index name starts with `connection.prefix` and a dot."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.where = ", ".join(connection.hosts)
        self.prefix = connection.prefix
        self.made: set[str] = set()
        self._read_seconds = connection.read_seconds
        self.patience = connection.patience
        secure = all(host.startswith("https://") for host in connection.hosts)
        headers = {"Authorization": f"ApiKey {connection.api_key}"} if connection.api_key else {}
        self._client = OpenSearch(
            list(connection.hosts),
            http_auth=(connection.user, connection.password) if connection.user else None,
            headers=headers,
            use_ssl=secure,
            verify_certs=secure,
            ca_certs=str(connection.ca) if connection.ca else None,
            serializer=OrjsonSerializer(),
            # We retry ourselves, with pauses; the library would do so immediately. It tries a failed host last.
            max_retries=0,
            retry_on_status=(),
            pool_maxsize=_CONNECTIONS,
        )

    def read(
        self, method: str, path: str, body: Any = None, params: Params = NONE, timeout: float | None = None
    ) -> Any:
        """A request that changes nothing, retried for a moment while the cluster is busy or unreachable."""
        return self._request(method, path, body, params, timeout or self._read_seconds, Retries(self.patience))

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Params = NONE,
        timeout: float = 120.0,
        retries: Retries = _WRITE_RETRIES,
    ) -> Any:
        """An idempotent write: it names its document ids, or the state that it starts from."""
        return self._request(method, path, body, params, timeout, retries)

    def name(self, *parts: str) -> str:
        """The name on the cluster of an index of ours: `medley.abstracts.1`."""
        return ".".join((self.prefix, *parts)).lower()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, method: str, path: str, body: Any, params: Params, timeout: float, retries: Retries) -> Any:
        operation = _operation(path)
        about: spans.Attributes = {"db.system.name": "opensearch", "db.operation.name": operation}
        with spans.span(f"opensearch {operation}", about, "client") as call:
            send = partial(
                self._client.transport.perform_request,
                method,
                path,
                headers=spans.headers() or None,
                params=params,
                body=body,
                timeout=timeout,
            )
            return self._retried(send, retries, call)

    def _retried(self, send: Callable[[], Any], retries: Retries, call: spans.OpenSpan) -> Any:
        until, pause, attempts = time.monotonic() + retries.seconds, _FIRST_PAUSE, 1
        while True:
            retries.before()
            try:
                return send()
            except OpenSearchException as error:
                left = until - time.monotonic()
                if left <= 0 or not is_transient(error):
                    raise translate(error, self.where) from error
            time.sleep(min(left, random.uniform(pause / 2, pause)))  # noqa: S311 — no secret depends on it
            pause = min(2 * pause, _LONGEST_PAUSE)
            attempts += 1
            call.set({"medley.attempts": attempts})


def _operation(path: str) -> str:
    """The API that a path names, such as `_search`: never an index or an id, which stand around it."""
    return next((part for part in path.split("/") if part.startswith("_")), "index")


def ndjson(lines: Sequence[Any]) -> bytes:
    """Newline-delimited JSON, as `_bulk` and `_msearch` take it; bytes are used unchanged."""
    return b"".join(b"%s\n" % (line if isinstance(line, bytes) else orjson.dumps(line)) for line in lines)


def send_all(where: str, pending: Items, send: Callable[[Items], Items]) -> None:
    """Send items, then those that `send` returns as postponed, after growing pauses with jitter.

    Raises `Unavailable` when some are still postponed after two minutes.
    """
    until, pause = time.monotonic() + WRITE_SECONDS, _FIRST_PAUSE
    while pending := send(pending):
        if time.monotonic() > until:
            raise Unavailable(
                f"OpenSearch at {where} was too busy for {WRITE_SECONDS:.0f} s; {len(pending):,} entries are not written "
                "yet, and no accepted document is lost"
            )
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 — no secret depends on it
        pause = min(2 * pause, _LONGEST_PAUSE)

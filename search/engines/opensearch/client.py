"""The line to an OpenSearch cluster: JSON both ways, waiting with jitter where a request may be repeated, errors of ours."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException
from opensearchpy.serializer import Serializer

from mappings.errors import InvalidInput, Unavailable
from search.engines.opensearch.errors import passes, translated

Items = TypeVar("Items", bound=Sized)
Params = Mapping[str, str]
NONE: Final[Params] = {}
WHOLE: Final[Params] = {"allow_partial_search_results": "false"}
"""A search that some shard could not answer is an error, never a smaller answer."""

READ_SECONDS: Final = 2.0
"""How long a read goes on trying for somebody who waits: a search that takes longer is no answer."""

WRITE_SECONDS: Final = 120.0
"""How long a write goes on trying: a node that restarts is back by then."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the cluster is and how we show who we are.

    `prefix` stands before the name of everything of ours; a read that takes longer than `read_seconds` is given up, and
    tried again for `patience` seconds while that may help.
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
                    f"MEDLEY_OPENSEARCH takes addresses as https://host:9200, not {host!r}", field="MEDLEY_OPENSEARCH"
                )
        if self.ca is not None and not self.ca.is_file():
            raise InvalidInput(f"there is no file {self.ca} with certificates", field="MEDLEY_OPENSEARCH_CA")


def nothing() -> None:
    """Before a try of what may be tried at any time."""


class OrjsonSerializer(Serializer):
    """JSON by orjson; bytes are sent as they are."""

    mimetype = "application/json"

    def dumps(self, data: Any) -> Any:
        """Bytes of JSON."""
        return data if isinstance(data, bytes | str) else orjson.dumps(data)

    def loads(self, s: str) -> Any:
        """The value of a JSON text."""
        return orjson.loads(s)


logging.getLogger("opensearch").setLevel(logging.CRITICAL)  # its errors become ours, and are told once


class Cluster:
    """Requests to one cluster; threads share it. Every name starts with `connection.prefix` and a dot."""

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
            # Repeating is ours, with pauses; the library's own comes at once. A host that failed is put last by it.
            max_retries=0,
            retry_on_status=(),
            pool_maxsize=_CONNECTIONS,
        )

    def read(
        self, method: str, path: str, body: Any = None, params: Params = NONE, timeout: float | None = None
    ) -> Any:
        """A request that changes nothing, repeated for a moment while the cluster is busy or unreachable."""
        return self._repeated(method, path, body, params, timeout or self._read_seconds, self.patience)

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Params = NONE,
        timeout: float = 120.0,
        patience: float = WRITE_SECONDS,
        before: Callable[[], None] = nothing,
    ) -> Any:
        """A request that may be repeated without harm: it names its ids, or the state that it starts from.

        `before` is called before every try; what it raises ends them.
        """
        return self._repeated(method, path, body, params, timeout, patience, before)

    def name(self, *parts: str) -> str:
        """The name on the cluster of something of ours: `medley.abstracts.1`."""
        return ".".join((self.prefix, *parts)).lower()

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _repeated(
        self,
        method: str,
        path: str,
        body: Any,
        params: Params,
        timeout: float,
        patience: float,
        before: Callable[[], None] = nothing,
    ) -> Any:
        def send() -> Any:
            before()
            return self._client.transport.perform_request(method, path, params=params, body=body, timeout=timeout)

        return with_patience(
            send, patience, lambda error: isinstance(error, OpenSearchException) and passes(error), self.where
        )


def with_patience(send: Callable[[], Any], seconds: float, may_pass: Callable[[Exception], bool], where: str) -> Any:
    """What `send` gives, tried again after ever longer pauses with jitter while its error may pass. Raises ours."""
    until, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            return send()
        except OpenSearchException as error:
            left = until - time.monotonic()
            if left <= 0 or not may_pass(error):
                raise translated(error, where) from error
        time.sleep(min(left, random.uniform(pause / 2, pause)))  # noqa: S311 — no secret depends on it
        pause = min(2 * pause, _LONGEST_PAUSE)


def ndjson(lines: Sequence[Any]) -> bytes:
    """Lines of JSON, as `_bulk` and `_msearch` take them; bytes stand as they are."""
    return b"".join(b"%s\n" % (line if isinstance(line, bytes) else orjson.dumps(line)) for line in lines)


def persist(where: str, waiting: Items, send: Callable[[Items], Items]) -> None:
    """Send items, then again those that were put off, after ever longer pauses with jitter; `send` gives them back.

    Raises `Unavailable` when some are still put off after two minutes.
    """
    until, pause = time.monotonic() + WRITE_SECONDS, _FIRST_PAUSE
    while waiting := send(waiting):
        if time.monotonic() > until:
            raise Unavailable(
                f"OpenSearch at {where} was too busy for {WRITE_SECONDS:.0f} s; {len(waiting):,} entries are not written "
                "yet, nothing accepted is lost"
            )
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 — no secret depends on it
        pause = min(2 * pause, _LONGEST_PAUSE)

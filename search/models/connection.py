"""The connection to one model server: keep-alive, time limits, retries while time remains, a circuit breaker."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import urllib3

from mappings.errors import InvalidInput, MedleyError, ModelError, Unavailable
from search.models.headers import DEADLINE
from search.timed_models import TimedOut
from search.tracing import spans

CONNECT_SECONDS: Final = 2.0
FAILURES: Final = 5
"""Consecutive failures after which a server is skipped for `REST_SECONDS`; then one request probes it."""

REST_SECONDS: Final = 5.0
MAX_REPLY_BYTES: Final = 64_000_000
CONNECTIONS: Final = 32
FAIR_SECONDS: Final = 1.0
"""A timeout shorter than this does not count as a failure of the server."""

_READ: Final = 65_536
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_BUSY: Final = frozenset({429, 503})
_REFUSING: Final = frozenset({401, 403})
_MAX_REASON: Final = 300


class Breaker:
    """A circuit breaker: fails immediately while a server is known to be down. Thread-safe."""

    def __init__(self, failures: int = FAILURES, rest: float = REST_SECONDS) -> None:
        self._threshold, self._rest = failures, rest
        self._failures, self._until, self._cause = 0, 0.0, ""
        self._lock = threading.Lock()

    def check(self, where: str) -> None:
        """Raise `Unavailable` while the breaker is open; after the rest one caller gets through, as the probe."""
        with self._lock:
            if self._failures < self._threshold:
                return
            now = time.monotonic()
            if now < self._until:
                raise Unavailable(
                    f"{where} is not contacted for another {self._until - now:.0f} s because {self._cause}"
                )
            self._until = now + self._rest

    def succeed(self) -> None:
        """Record a response."""
        with self._lock:
            self._failures = 0

    def fail(self, cause: str) -> None:
        """Record a failure and its cause."""
        with self._lock:
            self._failures += 1
            self._cause = cause
            self._until = time.monotonic() + self._rest


@dataclass(frozen=True, slots=True)
class Reply:
    """The JSON value of a response, and its headers."""

    value: Any
    headers: Mapping[str, str]


@dataclass(slots=True)
class ServerConnection:
    """Requests to one server. Thread-safe.

    `generation` increases whenever a connection fails: a different server process may answer from then on.
    """

    address: str
    token: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    generation: int = 0
    _pool: urllib3.PoolManager = field(init=False)
    _parts: urllib3.util.Url = field(init=False)

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise InvalidInput(
                f"MEDLEY_INFERENCE takes addresses such as http://host:8081, not {self.address!r}",
                field="MEDLEY_INFERENCE",
            )
        self._parts = urllib3.util.parse_url(self.address)
        self._pool = urllib3.PoolManager(maxsize=CONNECTIONS, retries=False)

    def get(self, path: str, seconds: float) -> Reply:
        """GET `path` within `seconds`. Raises `Unavailable`, `ModelError`."""
        return self._send("GET", path, None, {}, time.monotonic() + seconds)

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], until: float) -> Reply:
        """POST `body` to `path`, by the moment `until` (`time.monotonic`). The request must be idempotent.

        Raises `Unavailable` (`TimedOut` when time ran out), and `ModelError` for a refusal or an invalid response.
        """
        return self._send("POST", path, orjson.dumps(body), headers, until)

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float) -> Reply:
        with spans.span(f"model server {path}", self._about(path), "client") as call:
            return self._retried(method, path, body, {**headers, **spans.headers()}, until, call)

    def _about(self, path: str) -> spans.Attributes:
        url = self._parts
        return {"server.address": url.host or "", "server.port": url.port or 0, "url.path": path}

    def _retried(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        until: float,
        call: spans.OpenSpan,
    ) -> Reply:
        pause, first_try, allowed = _FIRST_PAUSE, True, until - time.monotonic()
        while True:
            self.breaker.check(self.address)
            try:
                status, reply_headers, content = self._once(method, path, body, headers, until)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = self._failed(error, until, allowed)
                if not first_try or isinstance(failure, TimedOut):
                    raise failure from error
                first_try = False  # a kept-alive connection may have been closed meanwhile: retry once, on a new one
                continue
            call.set({"http.response.status_code": status})
            if status < 500:  # also one that refuses: it is there
                self.breaker.succeed()
            if status not in _BUSY:
                return Reply(self._value(status, content), reply_headers)
            wait = max(random.uniform(pause / 2, pause), _retry_after(reply_headers.get("Retry-After")))  # noqa: S311
            if status != 429:
                self.breaker.fail(f"it responded with {status}")
            if time.monotonic() + wait >= until:
                raise TimedOut(f"{self.address} is busy ({status}: {_reason(content)})")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        left = until - time.monotonic()
        if left <= 0:
            raise urllib3.exceptions.TimeoutError("no time left")
        response = self._pool.request(
            method,
            f"{self.address}{path}",
            body=body,
            headers=self._headers(headers, left),
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, left), read=left),
            preload_content=False,
            redirect=False,
            retries=False,
        )
        try:
            content = _content(response, until)
        except BaseException:
            response.close()  # its remaining bytes must not be read as the next response
            raise
        response.release_conn()
        return response.status, response.headers, content

    def _headers(self, headers: Mapping[str, str], left: float) -> dict[str, str]:
        authorization = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Content-Type": "application/json", DEADLINE: str(max(1, int(1000 * left))), **authorization, **headers}

    def _failed(self, error: Exception, until: float, allowed: float) -> Unavailable:
        self.generation += 1
        if isinstance(error, urllib3.exceptions.TimeoutError) and time.monotonic() >= until - 0.01:
            if allowed >= FAIR_SECONDS:
                self.breaker.fail("it did not respond in time")
            return TimedOut(f"{self.address} did not respond within {allowed:.1f} s")
        cause = f"it can't be reached ({_message(error)})"
        self.breaker.fail(cause)
        return Unavailable(f"{self.address}: {cause}")

    def _value(self, status: int, content: bytes) -> Any:
        if status in _REFUSING:
            raise Unavailable(f"{self.address} rejects the token in MEDLEY_INFERENCE_TOKEN_FILE ({_reason(content)})")
        if status == 504:
            raise TimedOut(f"{self.address}: {_reason(content)}")
        if status >= 500:
            self.breaker.fail(f"it responded with {status}")
            raise Unavailable(f"{self.address} failed ({status}: {_reason(content)})")
        if status != 200:
            raise ModelError(f"{self.address} rejected the request ({status}: {_reason(content)})")
        try:
            return orjson.loads(content)
        except ValueError as error:
            raise invalid_response(self.address, "the body is not valid JSON") from error


def invalid_response(address: str, problem: str) -> MedleyError:
    """The error for a response that breaks the API."""
    return ModelError(f"the model server {address} sent an invalid response: {problem}")


def _content(response: urllib3.BaseHTTPResponse, until: float) -> bytes:
    """The whole body. Raises for one that is too long or does not end in time."""
    parts, size = [], 0
    while part := response.read1(_READ):
        parts.append(part)
        size += len(part)
        if size > MAX_REPLY_BYTES:
            raise urllib3.exceptions.HTTPError(f"its response is longer than {MAX_REPLY_BYTES:,} bytes")
        if time.monotonic() > until:
            raise urllib3.exceptions.TimeoutError("its response did not end in time")
    return b"".join(parts)


def _retry_after(text: str | None) -> float:
    return float(text) if text and text.isascii() and text.isdecimal() and len(text) < 4 else 0.0


def _reason(content: bytes) -> str:
    """The error message in a body of any format."""
    try:
        value = orjson.loads(content)
        message = value["error"] if isinstance(value, dict) and "error" in value else value
    except ValueError:
        message = content.decode("utf-8", "replace")
    return str(message)[:_MAX_REASON]


def _message(error: Exception) -> str:
    """urllib3's message without the memory addresses of Python objects."""
    return str(error).rsplit("object at 0x", 1)[-1].partition(": ")[2] or str(error) or type(error).__name__

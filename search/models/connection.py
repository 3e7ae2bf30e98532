"""The line to one model server: kept-alive connections, time limits, repeats while there is time, a circuit breaker."""

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
from search.protocols import TimedOut

CONNECT_SECONDS: Final = 2.0
FAILURES: Final = 5
"""Failures in a row after which a server is left alone for `REST_SECONDS`; then one request tries it."""

REST_SECONDS: Final = 5.0
MAX_REPLY_BYTES: Final = 64_000_000
CONNECTIONS: Final = 32
FAIR_SECONDS: Final = 1.0
"""A server that had less time than this is not at fault when it did not answer."""

_READ: Final = 65_536
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_BUSY: Final = frozenset({429, 503})
_REFUSING: Final = frozenset({401, 403})
_MOST_REASON: Final = 300


class Breaker:
    """Fails at once while a server is known to be down; threads share it."""

    def __init__(self, failures: int = FAILURES, rest: float = REST_SECONDS) -> None:
        self._most, self._rest = failures, rest
        self._failures, self._until, self._cause = 0, 0.0, ""
        self._lock = threading.Lock()

    def check(self, where: str) -> None:
        """Raise `Unavailable` while the server rests; one caller after the rest goes through, as the probe."""
        with self._lock:
            if self._failures < self._most:
                return
            now = time.monotonic()
            if now < self._until:
                raise Unavailable(f"{where} is left alone for {self._until - now:.0f} s more, since {self._cause}")
            self._until = now + self._rest

    def succeed(self) -> None:
        """The server answered."""
        with self._lock:
            self._failures = 0

    def fail(self, cause: str) -> None:
        """The server did not."""
        with self._lock:
            self._failures += 1
            self._cause = cause
            self._until = time.monotonic() + self._rest


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON value and the headers that came with it."""

    value: Any
    headers: Mapping[str, str]


@dataclass(slots=True)
class Line:
    """Requests to one server; threads share it. `generation` grows whenever a connection failed: who answers may differ."""

    address: str
    token: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    generation: int = 0
    _pool: urllib3.PoolManager = field(init=False)

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise InvalidInput(
                f"MEDLEY_INFERENCE takes addresses as http://host:8081, not {self.address!r}", field="MEDLEY_INFERENCE"
            )
        self._pool = urllib3.PoolManager(maxsize=CONNECTIONS, retries=False)

    def get(self, path: str, seconds: float) -> Reply:
        """What stands at `path`. Raises `Unavailable`, `ModelError`."""
        return self._send("GET", path, None, {}, time.monotonic() + seconds)

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], until: float) -> Reply:
        """The answer to `body`, which may be asked for twice without harm, by the moment `until` (`time.monotonic`).

        Raises `Unavailable` (`TimedOut` when the time was over), and `ModelError` for a refusal or an answer that is none.
        """
        return self._send("POST", path, orjson.dumps(body), headers, until)

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float) -> Reply:
        pause, fresh, allowed = _FIRST_PAUSE, True, until - time.monotonic()
        while True:
            self.breaker.check(self.address)
            try:
                status, reply_headers, content = self._once(method, path, body, headers, until)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = self._failed(error, until, allowed)
                if not fresh or isinstance(failure, TimedOut):
                    raise failure from error
                fresh = False  # a kept connection may have been closed meanwhile: once more, on a new one
                continue
            if status not in _BUSY:
                return Reply(self._value(status, content), reply_headers)
            wait = max(random.uniform(pause / 2, pause), _seconds(reply_headers.get("Retry-After")))  # noqa: S311
            if status != 429:
                self.breaker.fail(f"it answered {status}")
            if time.monotonic() + wait >= until:
                raise TimedOut(f"{self.address} is busy ({status}: {_reason(content)})")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        left = until - time.monotonic()
        if left <= 0:
            raise urllib3.exceptions.TimeoutError("no time is left")
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
            response.close()  # what is left of it must not be read as the next answer
            raise
        response.release_conn()
        return response.status, response.headers, content

    def _headers(self, headers: Mapping[str, str], left: float) -> dict[str, str]:
        shown = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Content-Type": "application/json", DEADLINE: str(max(1, int(1000 * left))), **shown, **headers}

    def _failed(self, error: Exception, until: float, allowed: float) -> Unavailable:
        self.generation += 1
        if isinstance(error, urllib3.exceptions.TimeoutError) and time.monotonic() >= until - 0.01:
            if allowed >= FAIR_SECONDS:
                self.breaker.fail("it did not answer in time")
            return TimedOut(f"{self.address} did not answer within {allowed:.1f} s")
        cause = f"it can't be reached ({_plain(error)})"
        self.breaker.fail(cause)
        return Unavailable(f"{self.address}: {cause}")

    def _value(self, status: int, content: bytes) -> Any:
        if status in _REFUSING:
            raise Unavailable(f"{self.address} refuses the token of MEDLEY_INFERENCE_TOKEN_FILE ({_reason(content)})")
        if status == 504:
            raise TimedOut(f"{self.address}: {_reason(content)}")
        if status >= 500:
            self.breaker.fail(f"it answered {status}")
            raise Unavailable(f"{self.address} failed ({status}: {_reason(content)})")
        self.breaker.succeed()
        if status != 200:
            raise ModelError(f"{self.address} refused the request ({status}: {_reason(content)})")
        try:
            return orjson.loads(content)
        except ValueError as error:
            raise nonsense(self.address, "no JSON") from error


def nonsense(address: str, what: str) -> MedleyError:
    """The error of a server that answers something else than it should."""
    return ModelError(f"the model server {address} answers nonsense: {what}")


def _content(response: urllib3.BaseHTTPResponse, until: float) -> bytes:
    """The whole reply; one that trickles or never ends is given up."""
    parts, size = [], 0
    while part := response.read1(_READ):
        parts.append(part)
        size += len(part)
        if size > MAX_REPLY_BYTES:
            raise urllib3.exceptions.HTTPError(f"its reply is longer than {MAX_REPLY_BYTES:,} bytes")
        if time.monotonic() > until:
            raise urllib3.exceptions.TimeoutError("its reply trickles")
    return b"".join(parts)


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isascii() and text.isdecimal() and len(text) < 4 else 0.0


def _reason(content: bytes) -> str:
    """What an error's body says, of any form."""
    try:
        value = orjson.loads(content)
        said = value["error"] if isinstance(value, dict) and "error" in value else value
    except ValueError:
        said = content.decode("utf-8", "replace")
    return str(said)[:_MOST_REASON]


def _plain(error: Exception) -> str:
    """urllib3's message without the addresses of Python's objects that it shows."""
    return str(error).rsplit("object at 0x", 1)[-1].partition(": ")[2] or str(error) or type(error).__name__

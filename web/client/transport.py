"""Requests to a gateway and its answers, as bytes and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from mappings.errors import InvalidInput
from web.client.errors import ApiError, ConnectionFailed

_JSON: Final = "application/json"
_SHOWN: Final = 200


class Transport:
    """One gateway at `address`, asked with `token` (empty: none). Threads can share it.

    A request is sent again only where it never reached the gateway, or was refused for a moment (`Retry-After`), at most
    `retries` times. `timeout` is in seconds: to connect, and to wait for each part of the answer.
    """

    def __init__(self, address: str, token: str = "", timeout: float = 60.0, retries: int = 2) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidInput(
                f"{address[:_SHOWN]!r} is not the address of a gateway, such as http://localhost:8080", field="address"
            )
        self._address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._retries = urllib3.Retry(
            total=retries, connect=retries, read=0, redirect=0, status=retries, other=0,
            status_forcelist=(429,), allowed_methods=None, raise_on_status=False, backoff_factor=0.2,
        )  # fmt: skip
        self._pool = urllib3.PoolManager(timeout=urllib3.Timeout(timeout))

    def json(self, method: str, path: str, body: Any = None, parameters: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON. `body` is sent as JSON. Raises `ApiError` and `ConnectionFailed`."""
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        return self._parsed(self.content(method, path, content, parameters, _JSON))

    def content(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        parameters: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
    ) -> bytes:
        """The answer's body. Raises `ApiError` and `ConnectionFailed`."""
        query = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        headers = self._headers | ({} if body is None else {"Content-Type": content_type})
        again = self._retries if body is None or isinstance(body, bytes) else False  # a stream can't be sent again
        try:
            answer = self._pool.request(
                method, f"{self._address}{path}{query}", body=body, headers=headers, retries=again
            )
        except HTTPError as error:
            raise ConnectionFailed(f"{self._address} gave no answer: {error}", field="address") from error
        if not 200 <= answer.status < 300:
            raise self._error(answer)
        return answer.data

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _parsed(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as error:
            raise self._foreign(content) from error

    def _foreign(self, content: bytes) -> ConnectionFailed:
        shown = content[:_SHOWN].decode(errors="replace")
        return ConnectionFailed(f"what answers at {self._address} is not a Medley gateway: {shown!r}", field="address")

    def _error(self, answer: urllib3.BaseHTTPResponse) -> ApiError | ConnectionFailed:
        try:
            found = json.loads(answer.data)["error"]
            code, message, field = found["code"], found["message"], found["field"]
        except (ValueError, KeyError, TypeError):
            return self._foreign(answer.data)
        wait = answer.headers.get("Retry-After", "")
        return ApiError(answer.status, code, message, field, int(wait) if wait.isdecimal() else None)

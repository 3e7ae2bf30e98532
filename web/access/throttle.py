"""Slows addresses that keep sending wrong tokens. A right token is accepted from any address at any time."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from mappings.errors import Unauthorized
from web.access.proxies import parse_address

FREE_FAILURES: Final = 10
"""Wrong tokens that an address may send before it is told to wait."""

QUIET_SECONDS: Final = 600.0
"""After this long without a wrong token, an address starts afresh; also the longest wait."""

MOST_ADDRESSES: Final = 10_000
_SITE_BITS: Final = 64


class TooManyFailures(Unauthorized):
    """The token is wrong, and so were too many before it from the same address; `retry_after` is in seconds."""

    code = "throttled"

    def __init__(self, message: str, *, field: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message, field=field)
        self.retry_after = retry_after


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Counts the wrong tokens of each address, in this process only. Thread-safe; remembers the latest addresses.

    It decides about wrong tokens alone: a whole hospital can be behind one address, and one program with an old token
    must not lock it out. A secret has 256 random bits, so nothing depends on how fast they can be guessed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST_ADDRESSES) -> None:
        self._clock, self._most = clock, most
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._lock = Lock()

    def count_failure(self, address: str | None) -> int:
        """Count a wrong token from `address`; return the seconds to wait, which double each time, or 0."""
        now, site = self._clock(), _site(address)
        with self._lock:
            known = self._failures.pop(site, None)
            if known is None or now - known.last >= QUIET_SECONDS:
                known = _Failures(0, now)
            known.count, known.last = known.count + 1, now
            self._failures[site] = known
            if len(self._failures) > self._most:
                self._failures.popitem(last=False)
            beyond = known.count - FREE_FAILURES
        return 0 if beyond <= 0 else int(min(2.0 ** min(beyond - 1, 30), QUIET_SECONDS))

    def __len__(self) -> int:
        return len(self._failures)


def _site(address: str | None) -> str:
    """What is counted as one sender: an IPv4 address, or an IPv6 network, of which one machine has all addresses."""
    found = parse_address(address or "")
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _SITE_BITS), strict=False))
    return str(found or "")

"""The address that a request comes from: the socket's, or behind a proxy that the settings name, the one it forwards."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from flask import Flask, current_app, request

from mappings.errors import InvalidInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_EXTENSION = "medley_proxies"


@dataclass(frozen=True, slots=True)
class Proxies:
    """The reverse proxies whose `X-Forwarded-For` is believed.

    Werkzeug's `ProxyFix` counts hops instead, and believes whoever connects past the proxy.
    """

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, text: str) -> Proxies:
        """Read addresses and networks, comma-separated. Raises `InvalidInput` naming the first that is neither."""
        found = []
        for item in filter(None, (part.strip() for part in text.split(","))):
            try:
                found.append(ipaddress.ip_network(item))
            except ValueError as error:
                raise InvalidInput(
                    f"{item[:80]!r} is neither an address nor a network such as 10.0.0.0/24: {error}",
                    field="MEDLEY_PROXIES",
                ) from error
        return cls(tuple(found))

    def client(self, peer: str | None, forwarded: Sequence[str]) -> str | None:
        """The address of the client, from that of the socket and the values of `X-Forwarded-For`.

        It is the last one in the chain that is no proxy: everything to the left of it can be made up by the client.
        """
        believed = parse_address(peer or "")
        if believed is None or not self._has(believed):
            return peer
        hops = [hop for value in forwarded for hop in value.split(",")]
        for hop in reversed(hops):
            address = parse_address(hop)
            if address is None:
                break
            believed = address
            if not self._has(address):
                break
        return str(believed)

    def trusts(self, peer: str | None) -> bool:
        """Whether the address of a socket is that of a proxy."""
        address = parse_address(peer or "")
        return address is not None and self._has(address)

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks if network.version == address.version)


def parse_address(text: str) -> Address | None:
    """The address in `text`, which can carry brackets and a port; None if there is none.

    An IPv4 address in the form of IPv6 becomes IPv4, because sockets that listen for both give it so.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def set_up_proxies(app: Flask, text: str) -> None:
    """Believe the proxies of the setting `text` for every request of `app`. Raises `InvalidInput`."""
    app.extensions[_EXTENSION] = Proxies.of(text)


def client_address() -> str | None:
    """The address that this request comes from; None on a Unix socket."""
    known: Proxies = current_app.extensions.get(_EXTENSION, Proxies())
    return known.client(request.remote_addr, request.headers.getlist("X-Forwarded-For"))

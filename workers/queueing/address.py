"""The address of Redis: with its password for the connection, without it for messages."""

from __future__ import annotations

from urllib.parse import quote

from mappings.errors import InvalidInput
from search.engines.opened import secret
from search.settings import Settings


def redis_place(settings: Settings) -> str:
    """Where the Redis of the settings is: without user name, password and options, one of which can be a password."""
    return place_of(settings.redis)


def place_of(url: str) -> str:
    """Host, port and number in the address of a Redis."""
    return url.rpartition("@")[2].partition("?")[0].removeprefix("redis://").removeprefix("rediss://")


def redis_url(settings: Settings) -> str:
    """The URL of Redis, with its password. Raises `InvalidInput`."""
    url = settings.redis
    if not url:
        raise InvalidInput(
            "there is no queue: set MEDLEY_REDIS to the address of a Redis, such as redis://127.0.0.1:6379/0",
            field="MEDLEY_REDIS",
        )
    if not url.startswith(("redis://", "rediss://")):
        raise InvalidInput(
            f"MEDLEY_REDIS takes an address such as redis://127.0.0.1:6379/0, not {place_of(url)!r}",
            field="MEDLEY_REDIS",
        )
    password = secret(settings.redis_password_file, "MEDLEY_REDIS_PASSWORD_FILE")
    if not password:
        return url
    scheme, _, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}:{quote(password, safe='')}@{place}"

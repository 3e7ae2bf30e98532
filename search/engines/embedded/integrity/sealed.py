"""Small files that carry their own checksum, such as the pointer to the published index.

Files of the earlier form, without a checksum, are accepted: so an operator can also write one by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import orjson

from mappings.errors import Damaged

_SUM: Final = "checksum"
_LAST_LINE: Final = re.compile(rb"^# checksum: ([0-9a-f]{8})\n\Z", re.MULTILINE)


def seal(content: Mapping[str, Any]) -> bytes:
    """`content` as JSON with a checksum of itself."""
    return orjson.dumps({**content, _SUM: f"{crc32(orjson.dumps(dict(content))):08x}"})


def unseal(path: Path, keys: Set[str], remedy: str = "", optional: Set[str] = frozenset()) -> dict[str, Any]:
    """The content of a sealed JSON file with exactly these keys, and perhaps some that are `optional`.

    Raises `Damaged`, whose message ends with `remedy` if there is one, and `FileNotFoundError`.
    """
    raw = path.read_bytes()
    try:
        content = orjson.loads(raw)
    except ValueError:
        content = None
    if isinstance(content, dict):
        sealed = content.pop(_SUM, None) is not None
        # All bytes count, not only what they mean: a space that became a line break is damage, too.
        if content.keys() - optional == keys and (not sealed or raw == seal(content)):
            return content
    raise Damaged(f"{path} is damaged{f': {remedy}' * bool(remedy)}", field=path.name)


def seal_text(text: str) -> bytes:
    """A text with a last line, a comment in TOML, that holds the checksum of the lines before."""
    content = (text if text.endswith("\n") or not text else f"{text}\n").encode()
    return content + b"# checksum: %08x\n" % crc32(content)


def unseal_text(path: Path, remedy: str) -> str:
    """The text of a sealed file, without its checksum. Raises `Damaged`, whose message ends with `remedy`."""
    raw = path.read_bytes()
    found = _LAST_LINE.search(raw)
    content = raw[: found.start()] if found else raw
    try:
        if not found or int(found[1], 16) == crc32(content):
            return content.decode()
    except UnicodeDecodeError:
        pass
    raise Damaged(f"{path} is damaged: {remedy}", field=path.name)

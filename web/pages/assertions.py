"""What documents assert, in the words and the style of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from search.query import NOT_PRESENT

SAYS: Final[Mapping[str, str]] = {
    "present": "present",
    "ruled-out": "ruled out",
    "uncertain": "uncertain",
    "hypothetical": "hypothetical",
    "historical": "in the past",
    "family": "in the family",
}
"""What is said of a mention, by its assertion; also the names of its styles: `says-ruled-out`."""

ASKS: Final[Mapping[str, str]] = {
    "present": "with",
    NOT_PRESENT: "without",
    "ruled-out": "ruled out:",
    "historical": "in the past:",
    "family": "in the family:",
    "uncertain": "uncertain:",
    "hypothetical": "hypothetical:",
}
"""What a criterion asks for, before the name of its concept."""

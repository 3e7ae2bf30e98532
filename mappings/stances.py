"""What a text says of a claim: it supports it, refutes it, or does neither."""

from __future__ import annotations

from typing import Final, Literal, get_args

from mappings.errors import InvalidInput

Stance = Literal["supports", "refutes", "neither"]
STANCES: Final[tuple[Stance, ...]] = get_args(Stance)
DECIDED: Final[tuple[Stance, ...]] = ("supports", "refutes")
_LABELS: Final[dict[str, Stance]] = {
    "SUPPORT": "supports",
    "REFUTE": "refutes",
    "NEUTRAL": "neither",
    "NOTENOUGHINFO": "neither",
}


def stance_of_label(label: str) -> Stance:
    """The stance that a data set calls `label`. Raises `InvalidInput`."""
    try:
        return _LABELS[label]
    except KeyError:
        raise InvalidInput(
            f"the label is {label!r:.80}; it must be one of {', '.join(_LABELS)}", field="label"
        ) from None


def as_stance(text: object, field: str = "stance") -> Stance:
    """`text` as a stance. Raises `InvalidInput`."""
    if not isinstance(text, str) or text not in STANCES:
        raise InvalidInput(f"{field} is {text!r:.80}; it must be one of {', '.join(STANCES)}", field=field)
    return text

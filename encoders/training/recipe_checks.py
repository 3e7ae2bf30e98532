"""Check single settings of a recipe; every error names the setting, its value and what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mappings.errors import InvalidInput

LARGEST_INTEGER = 2**63 - 1
"""The largest integer that a JSON record can store."""
LARGEST_NUMBER = 3.4e38
"""About the largest float32, the type of weights and losses."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The valid values of a number: `least` and `most` are included, `above` is not."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise `InvalidInput` unless `value` is a number of this range."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            raise InvalidInput(
                f"{name} is {value!r}; it must be {'an integer' if self.whole else 'a number'}", field=name
            )
        largest = LARGEST_INTEGER if self.whole else LARGEST_NUMBER
        if not -largest <= value <= largest:  # NaN, too
            raise InvalidInput(f"{name} is {value!r}; it must be finite and at most {largest}", field=name)
        if self.least is not None and self.most is not None and not self.least <= value <= self.most:
            raise InvalidInput(f"{name} is {value}; it must be between {self.least} and {self.most}", field=name)
        if self.least is not None and value < self.least:
            raise InvalidInput(f"{name} is {value}; it must be at least {self.least}", field=name)
        if self.above is not None and value <= self.above:
            raise InvalidInput(f"{name} is {value}; it must be greater than {self.above}", field=name)


def check_numbers(settings: Any, ranges: Mapping[str, NumberRange]) -> None:
    """Check the attributes of `settings` that `ranges` names. Raises `InvalidInput`."""
    for name, valid in ranges.items():
        valid.check(name, getattr(settings, name))


def check_choice(name: str, value: Any, choices: Sequence[str], where: str = "") -> None:
    """Raise `InvalidInput` unless `value` is one of `choices`; `where` restricts them in the message."""
    if value not in choices:
        raise InvalidInput(f"{name} is {value!r};{where} it must be one of {', '.join(choices)}", field=name)


def check_text(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless `value` is a string."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {value!r}; it must be a string", field=name)


def check_windows(recipe: Any) -> None:
    """Check how a recipe's model reads windows and surroundings. Raises `InvalidInput`."""
    encodes = recipe.kind in ("bi-encoder", "poly-encoder")
    if recipe.windows in ("late", "late-context") and (recipe.kind != "bi-encoder" or recipe.pooling != "mean"):
        raise InvalidInput("windows are late only in a bi-encoder with the pooling 'mean'", field="windows")
    if recipe.windows == "surroundings":
        if not encodes or recipe.pooling != "cls":
            message = "windows = 'surroundings' needs a bi-encoder or poly-encoder with the pooling 'cls'"
            raise InvalidInput(message, field="windows")
        cut = [task for task, share in recipe.tasks.items() if share.window]
        if cut or recipe.keep:
            what = f"the task {cut[0]!r} has a window" if cut else f"keep is {recipe.keep}"
            message = f"{what}, but windows = 'surroundings' shows passages whole, among others"
            raise InvalidInput(message, field="window" if cut else "keep")
    if recipe.positions and not encodes:
        message = f"positions make a Longformer, which is a bi-encoder or poly-encoder, and not a {recipe.kind}"
        raise InvalidInput(message, field="positions")
    if recipe.attention_window % 2:
        message = f"attention_window is {recipe.attention_window}; it must be even: half of it is on each side"
        raise InvalidInput(message, field="attention_window")

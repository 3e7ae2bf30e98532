"""What the shipped settings and models were chosen on, and which choices were made after evaluated figures were seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from evaluation.published.entries import read_entry, read_toml
from mappings.errors import InvalidInput

FILE: Final = Path(__file__).with_name("choices.toml")
HEADING: Final = "## Choices made on evaluated figures"
ANCHOR: Final = "#choices-made-on-evaluated-figures"


@dataclass(frozen=True, slots=True)
class SeenChoice:
    """A choice that was made after figures of `suites` had been seen; `page` is where it is told, within `docs/`."""

    name: str
    date: date
    suites: list[str]
    chosen: str
    page: str


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """What a value of collection kinds was chosen on; `choice` names the `SeenChoice` that had a part in it."""

    kinds: list[str]
    setting: str
    value: str
    chosen_on: str
    choice: str = ""


@dataclass(frozen=True, slots=True)
class ModelOrigin:
    """What a shipped model was chosen on; `fingerprint` is its beginning, of 12 digits."""

    name: str
    fingerprint: str
    chosen_on: str


@dataclass(frozen=True, slots=True)
class ChoiceLedger:
    """All entries of `choices.toml`, in its order."""

    choices: tuple[SeenChoice, ...]
    settings: tuple[SettingOrigin, ...]
    models: tuple[ModelOrigin, ...]

    def of_suite(self, suite: str) -> tuple[SeenChoice, ...]:
        """The choices that were made after figures of this suite had been seen; its harder forms count as it."""
        name = suite.removesuffix("-distractors").removesuffix("-full")
        return tuple(item for item in self.choices if name in item.suites)


def read_choices(file: Path = FILE) -> ChoiceLedger:
    """The entries of a file. Raises `InvalidInput`, which names the entry and its key."""
    found = read_toml(file)
    if unknown := found.keys() - {"choice", "setting", "model"}:
        raise InvalidInput(f"{file.name} has no part {min(unknown)!r}", field=min(unknown))
    ledger = ChoiceLedger(
        tuple(read_entry(SeenChoice, item, file.name) for item in found.get("choice", [])),
        tuple(read_entry(SettingOrigin, item, file.name) for item in found.get("setting", [])),
        tuple(read_entry(ModelOrigin, item, file.name) for item in found.get("model", [])),
    )
    names = [item.name for item in ledger.choices]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput(f"{file.name} has the choice {twice[0]!r} twice", field="name")
    for item in ledger.settings:
        if item.choice and item.choice not in names:
            raise InvalidInput(
                f"{file.name}: {item.setting} names the choice {item.choice!r}, which it does not have", field="choice"
            )
    return ledger


def count_choices(choices: Sequence[SeenChoice]) -> list[str]:
    """The sentence below the table of a suite, which leads to the section; none without choices."""
    names = ", ".join(item.name for item in choices)
    counted = f"{len(choices)} choice{'s were' if len(choices) > 1 else ' was'}"
    return [f"[{counted} made after figures of this suite had been seen]({ANCHOR}): {names}"] if choices else []


def choices_section(ledger: ChoiceLedger) -> str:
    """The section of `docs/results.md`: every choice, and what each setting and model was chosen on."""
    number = len(ledger.choices)
    lines = [
        HEADING,
        "",
        f"{number} choices were made after figures of a suite had been seen. For those suites the figures",
        "are not of unseen judgements. The second table says what each shipped setting and model was chosen on.",
        "",
        "| # | choice | made after figures of | what was chosen |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {place} | [{item.name}]({item.page}), {item.date.isoformat()} | {', '.join(item.suites)} | {item.chosen} |"
        for place, item in enumerate(ledger.choices, 1)
    ]
    numbers = {item.name: place for place, item in enumerate(ledger.choices, 1)}
    lines += ["", "| kinds, or model | setting | value | chosen on |", "|---|---|---|---|"]
    lines += [
        f"| {', '.join(item.kinds)} | `{item.setting}` | {item.value} | {item.chosen_on}"
        + (f" (choice {numbers[item.choice]})" if item.choice else "")
        + " |"
        for item in ledger.settings
    ]
    lines += [f"| {item.name} | the model | {item.fingerprint} | {item.chosen_on} |" for item in ledger.models]
    return "\n".join([*lines, ""])

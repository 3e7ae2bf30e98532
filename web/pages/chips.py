"""The criteria of a search as chips that can be removed and changed.

What a chip changes goes into the findings of the search, `with` and `without`. A criterion that was read from the text becomes
a finding when it, or another one of the text, is changed: from then on the text is searched as plain words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.placing import PRESENT, RULED_OUT
from search.query import NOT_PRESENT
from search.understanding.criteria import Criterion, Wanted
from search.understanding.understand import Understanding
from web.pages.addresses import SearchAddress
from web.pages.assertions import ASKS

PLAIN: Final = ("plain", "true")
_TEXT: Final = "text"


@dataclass(frozen=True, slots=True)
class CriterionChip:
    """A criterion: `prefix` and `name` say what is asked for, `typed` how, if otherwise.

    `choices` are (words, search) of what else can be asked of the concept, `without` is the search without it. `terms` are
    those of a bundle.
    """

    prefix: str
    name: str
    typed: str
    assertion: str
    without: SearchAddress
    choices: Sequence[tuple[str, SearchAddress]]
    terms: Sequence[str] = ()


class CriterionChips:
    """The chips of one search and what else the page says about how it was read."""

    def __init__(self, understood: Understanding, address: SearchAddress, lexicon: ConceptLexicon) -> None:
        self._understood = understood
        self._address = address
        self._lexicon = lexicon

    @property
    def chips(self) -> list[CriterionChip]:
        """One chip for each criterion, in order."""
        return [self._chip(item) for item in self._understood.proven]

    @property
    def words(self) -> list[tuple[str, SearchAddress]]:
        """(finding, search without it) of those that name no concept, and are searched as words."""
        return [(item, self._moved(self._understood.proven, dropped=item)) for item in self._understood.unknown]

    @property
    def plain(self) -> SearchAddress | None:
        """The same search with its text as plain words, if criteria were read from it."""
        reads = any(item.source == _TEXT for item in self._understood.proven)
        return self._address.with_value(*PLAIN) if reads else None

    @property
    def only(self) -> SearchAddress | None:
        """The search of those documents alone that meet what is preferred; None if nothing is."""
        preferred = self._understood.preferences
        found = [replace(item, source="with") for item in preferred if not self._understood.criteria]
        return self._moved(found, as_words=True) if found else None

    @property
    def read(self) -> SearchAddress | None:
        """The same search with its text read for criteria, if it is searched as plain words."""
        return self._address.drop(PLAIN[0]) if self._address.get("text") and PLAIN in self._address.pairs else None

    @property
    def lacking(self) -> bool:
        """Whether a criterion can depend on what `without` means."""
        negative = (item for item in self._understood.proven if item.assertion in (NOT_PRESENT, RULED_OUT))
        return any(
            item.source == "without" or item.assertion == NOT_PRESENT or (self.strict and item.source == _TEXT)
            for item in negative
        )

    @property
    def strict(self) -> bool:
        """Whether `without` means that documents rule it out."""
        return self._address.get("absence") == RULED_OUT

    @property
    def meanings(self) -> list[tuple[str, SearchAddress, bool]]:
        """(words, search, chosen) of the two meanings of `without`."""
        return [
            ("no sentence says that it is present", self._address.drop("absence"), not self.strict),
            ("a sentence rules it out", self._address.with_value("absence", RULED_OUT), self.strict),
        ]

    @property
    def cohort_rows(self) -> list[tuple[str, str]]:
        """The fields of the form of a cohort whose patients meet the criteria, under the filters of the search."""
        given: dict[str, list[str]] = {}
        for name, value in self._address.pairs:
            if name.startswith("filter."):
                given.setdefault(name.removeprefix("filter."), []).append(value)
        filters = json.dumps({name: values if len(values) > 1 else values[0] for name, values in given.items()})
        rows = []
        for place, item in enumerate(self._understood.proven):
            excluded = item.assertion == NOT_PRESENT
            rows += [
                (f"group.{place}", "none" if excluded else "all"),
                (f"concept.{place}", item.typed if item.bundle else self._name(item.concept)),
                (f"assertion.{place}", PRESENT if excluded else item.assertion),
                *([(f"filters.{place}", filters)] if given else []),
            ]
        return rows

    def _chip(self, item: Criterion) -> CriterionChip:
        # Where "without" means that it is ruled out, the two are one choice.
        known = (name for name in ASKS if not (self.strict and name == NOT_PRESENT))
        wanted = [cast("Wanted", name) for name in known if name != item.assertion]
        return CriterionChip(
            prefix=ASKS[item.assertion],
            name=item.name,
            typed="" if item.bundle or item.typed.casefold() == item.name.casefold() else item.typed,
            assertion=item.assertion,
            without=self._changed(item, None),
            choices=[
                (f"{ASKS[name]} {item.name}", self._changed(item, replace(item, assertion=name, source="with")))
                for name in wanted
            ],
            terms=item.bundle.terms if item.bundle else (),
        )

    def _changed(self, item: Criterion, other: Criterion | None) -> SearchAddress:
        """The search with `other` instead of a criterion."""
        criteria = [other if found is item else found for found in self._understood.proven]
        return self._moved([found for found in criteria if found], as_words=item.source == _TEXT)

    def _moved(self, criteria: Sequence[Criterion], dropped: str = "", as_words: bool = False) -> SearchAddress:
        """The search with these criteria as findings; those of the text stay in the text unless it is read `as_words`."""
        stated = [item for item in criteria if as_words or item.source != _TEXT]
        unknown = [item for item in self._understood.unknown if item != dropped]
        address = self._address.drop("with", "without", *(PLAIN[:1] if as_words else ()))
        pairs = list(address.pairs)
        for name in ("with", "without"):
            kept = [item for item in unknown if item in _values(self._address, name)]
            found = [self._finding(item) for item in stated if _slot(item) == name]
            pairs += [(name, ", ".join(dict.fromkeys([*found, *kept])))] if found or kept else []
        return SearchAddress(tuple([*pairs, PLAIN] if as_words and address.get("text") else pairs), address.private)

    def _finding(self, item: Criterion) -> str:
        name = item.typed if item.bundle else self._name(item.concept)
        return name if _slot(item) == "without" or item.assertion == PRESENT else f"{item.assertion}:{name}"

    def _name(self, concept: str) -> str:
        """The first name of a concept that a list separated by commas can hold."""
        found = self._lexicon.get(concept)
        return next((name for name in found.names if "," not in name), found.name)


def _slot(item: Criterion) -> str:
    return "without" if item.assertion == NOT_PRESENT or item.source == "without" else "with"


def _values(address: SearchAddress, name: str) -> list[str]:
    return [part.strip() for text in address.values(name) for part in text.split(",")]

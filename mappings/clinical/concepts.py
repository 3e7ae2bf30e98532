"""The lexicon of clinical concepts: `lexicons/concepts/*.tsv`, and a user's own files with the same columns.

Columns: id, preferred name, parents, synonyms, abbreviations, the last three separated by |. A user's file can start with a
row that names its columns; further columns with the names in `CODES` are codes. A row with the id and the name of a concept
that is there, and codes alone, gives it these.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from mappings.analysis.lexicon import LEXICONS, rows, rows_of
from mappings.errors import InvalidInput, NotFound

FOLDER: Final = LEXICONS / "concepts"
COLUMNS: Final = ("id", "preferred name", "parents", "synonyms", "abbreviations")
CODES: Final = ("UMLS", "SNOMED CT", "ICD-10", "RxNorm", "OMOP", "Wikidata")
GROUPS: Final = (
    "findings",
    "symptoms",
    "diagnoses",
    "drugs",
    "drug-classes",
    "procedures",
    "devices",
    "laboratory",
    "vitals",
)
_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_REQUIRED: Final = 2


@dataclass(frozen=True, slots=True)
class ShortForm:
    """A short form as charts spell it; an `ambiguous` one (`MS?` in the file) commonly means something else, too."""

    text: str
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class ClinicalConcept:
    """A concept of the lexicon. `names` start with the preferred one; `parents` are ids.

    `group` is one of `GROUPS`, by the name of its file (`diagnoses-heart.tsv` has diagnoses), or the name of a user's file.
    """

    id: str
    name: str
    group: str
    parents: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    abbreviations: tuple[ShortForm, ...] = ()
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class ConceptLexicon:
    """Concepts by id and by name.

    Raises `InvalidInput`, which names file and line, for a malformed row, a duplicate id, an unknown parent, a cycle among
    parents, an empty name, and a name or unambiguous abbreviation that belongs to two concepts.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._concepts: dict[str, ClinicalConcept] = {}
        self._places: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        self._ancestors: dict[str, tuple[str, ...]] = {}
        for path in paths:
            for place, concept in _read(path):
                self._add(place, concept)
        self._check_parents()

    def __iter__(self) -> Iterator[ClinicalConcept]:
        return iter(self._concepts.values())

    def __contains__(self, concept: object) -> bool:
        return concept in self._concepts

    def __len__(self) -> int:
        return len(self._concepts)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of all concepts: the same names and parents have the same one."""
        known = repr(sorted((item.id, item.parents, item.names, item.abbreviations) for item in self))
        return hashlib.sha256(known.encode()).hexdigest()[:12]

    def get(self, concept: str) -> ClinicalConcept:
        """The concept with that id. Raises `NotFound`."""
        found = self._concepts.get(concept)
        if found is None:
            raise NotFound(f"there is no concept {concept!r} in the lexicon", field="concept")
        return found

    def named(self, name: str) -> ClinicalConcept | None:
        """The concept of which `name` is a name, an unambiguous abbreviation or a code, in any case; None for none."""
        found = self._by_name.get(_folded(name))
        return self._concepts[found] if found else self.coded(name)

    def coded(self, code: str) -> ClinicalConcept | None:
        """The one concept that has a code, such as `I26.9` or `ICD-10:I26.9`; None for none, and where several have it."""
        found = self._by_code.get(_folded(code))
        return self._concepts[found] if found else None

    def ancestors(self, concept: str) -> tuple[str, ...]:
        """The ids of all wider concepts, nearest first, each once. Raises `NotFound`."""
        if concept not in self._ancestors:
            found = dict.fromkeys(self.get(concept).parents)
            level = list(found)
            while level:
                level = [parent for item in level for parent in self._concepts[item].parents if parent not in found]
                found |= dict.fromkeys(level)
            self._ancestors[concept] = tuple(found)
        return self._ancestors[concept]

    @cached_property
    def _by_code(self) -> dict[str, str]:
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for concept in self:
            for system, codes in concept.codes.items():
                for text in (text for code in codes for text in (code, f"{system}:{code}")):
                    owners[_folded(text)].add(concept.id)
        return {text: next(iter(ids)) for text, ids in owners.items() if len(ids) == 1}

    def _add(self, place: str, concept: ClinicalConcept) -> None:
        known = self._concepts.get(concept.id)
        if known and _only_codes(concept, known):
            codes = {name: (*known.codes.get(name, ()), *own) for name, own in concept.codes.items()}
            self._concepts[known.id] = replace(known, codes={**known.codes, **codes})
            return
        if known:
            raise _error(place, f"the id {concept.id!r} is already in {self._places[concept.id]}")
        self._concepts[concept.id] = concept
        self._places[concept.id] = place
        certain = (item.text for item in concept.abbreviations if not item.ambiguous)
        for name in (*concept.names, *certain):
            other = self._by_name.setdefault(_folded(name), concept.id)
            if other != concept.id:
                raise _error(place, f"the name {name!r} also belongs to {other!r} in {self._places[other]}")

    def _check_parents(self) -> None:
        for concept in self:
            for parent in concept.parents:
                if parent not in self._concepts:
                    raise _error(self._places[concept.id], f"the parent {parent!r} of {concept.id!r} does not exist")
        for concept in self:
            if concept.id in self.ancestors(concept.id):
                raise _error(self._places[concept.id], f"{concept.id!r} is among its own parents' parents")


@cache
def shipped_concepts() -> ConceptLexicon:
    """The concepts that Medley comes with."""
    return load_concepts()


@cache
def common_names() -> Mapping[str, tuple[str, ...]]:
    """Concept -> its names that research texts use beside the preferred one, the commonest first."""
    return {concept: tuple(names.split("|")) for concept, names in rows("common_names")}


def load_concepts(*own: Path, folder: Path = FOLDER) -> ConceptLexicon:
    """The concepts of `folder`, and those of a user's `own` files. Raises `InvalidInput` as `ConceptLexicon` does."""
    return ConceptLexicon([*sorted(folder.glob("*.tsv")), *own])


def _read(path: Path) -> Iterator[tuple[str, ClinicalConcept]]:
    """(file and line, concept) of each row."""
    header: tuple[str, ...] = COLUMNS
    group = next((name for name in GROUPS if f"{path.stem}-".startswith(f"{name}-")), path.stem)
    for index, (number, row) in enumerate(rows_of(path)):
        place = f"{path}:{number}"
        if not index and row[0].lower() == "id":
            header = _header(place, row)
        else:
            yield place, _concept(place, group, dict(_cells(place, header, row)))


def _header(place: str, row: tuple[str, ...]) -> tuple[str, ...]:
    known = {name.lower(): name for name in (*COLUMNS, *CODES)}
    unknown = [name for name in row if name.lower() not in known]
    if unknown or tuple(name.lower() for name in row[: len(COLUMNS)]) != COLUMNS:
        raise _error(place, f"the columns are {', '.join(COLUMNS)}, and then any of {', '.join(CODES)}")
    return tuple(known[name.lower()] for name in row)


def _cells(place: str, header: tuple[str, ...], row: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if not _REQUIRED <= len(row) <= len(header):
        raise _error(
            place, f"a row has {_REQUIRED} to {len(header)} columns, separated by tabs; this one has {len(row)}"
        )
    return zip(header, row, strict=False)


def _concept(place: str, group: str, cells: Mapping[str, str]) -> ClinicalConcept:
    identifier, name = cells["id"], cells["preferred name"]
    if not _ID.fullmatch(identifier):
        raise _error(place, f"the id {identifier!r} must be lowercase words joined by hyphens")
    names = dict.fromkeys((name, *_split(cells.get("synonyms", ""))))
    short = tuple(
        ShortForm(item.removesuffix("?"), item.endswith("?")) for item in _split(cells.get("abbreviations", ""))
    )
    for text in (*names, *(item.text for item in short)):
        if not any(map(str.isalnum, text)):
            raise _error(place, f"{identifier!r} has an empty name")
    codes = {column: _split(cells[column]) for column in CODES if cells.get(column)}
    return ClinicalConcept(identifier, name, group, _split(cells.get("parents", "")), tuple(names), short, codes)


def _only_codes(concept: ClinicalConcept, known: ClinicalConcept) -> bool:
    """Whether a row only gives codes to a concept that is there."""
    return (
        bool(concept.codes)
        and replace(known, group=concept.group, codes=concept.codes, parents=(), names=(known.name,), abbreviations=())
        == concept
    )


def _split(cell: str) -> tuple[str, ...]:
    """The parts of a cell; "" and "-" are none. An empty part stays, so that it can be reported."""
    return () if cell in ("", "-") else tuple(part.strip() for part in cell.split("|"))


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


def _error(place: str, message: str) -> InvalidInput:
    return InvalidInput(f"{place}: {message}", field="lexicon")

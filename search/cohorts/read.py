"""Cohort definitions as JSON: read with validation, and written back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from mappings.bundles import TermBundle, bundle_reference, concept_named, nearest_names
from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import ASSERTIONS
from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.cohorts.compile import date_field
from search.cohorts.definition import MAX_CONCEPTS, MAX_CRITERIA, CohortCriterion, CohortDefinition
from search.cohorts.words import wanted_phrases
from search.document_criteria import check_distances
from search.query import Filter
from search.understanding import filters

MAX_CHARACTERS: Final = 500
"""Most characters of a name of a concept, and of words."""

GROUPS: Final = ("all", "any", "none")
_KEYS: Final = ("concept", "bundle", "typed", "assertion", "words", "filters", "since", "until", "within_days", "of")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

BundleSource = Callable[[str], TermBundle]
"""The bundle with that id or name that the caller may see. Raises `InvalidInput`."""


def no_bundles(reference: str) -> TermBundle:
    """For definitions that nobody's bundles belong to."""
    raise InvalidInput(f"there is no bundle {reference[:80]!r} here", field="bundle")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the names of a definition are looked up in."""

    collection: Collection
    lexicon: ConceptLexicon | None
    bundles: BundleSource


def read_definition(
    value: Any, collection: Collection, lexicon: ConceptLexicon | None, bundles: BundleSource = no_bundles
) -> CohortDefinition:
    """The definition in a JSON value: `{"all": [...], "any": [...], "none": [...]}`, each a list of criteria.

    A criterion is an object with any of `concept` (an id or a name of the lexicon, or `bundle:` and a bundle), `bundle`,
    `assertion`, `words`, `filters`, `since`, `until` (`YYYY-MM-DD`), `within_days` and `of`, or a text: a concept that is
    present. `lexicon` is that of the collection's reader, None where its documents are not read. Raises `InvalidInput`,
    which names the criterion.
    """
    given = _object(value, "body", ("collection", *GROUPS))
    if given.get("collection", collection.name) != collection.name:
        raise InvalidInput(f"the definition is for another collection than {collection.name!r}", field="collection")
    groups = {name: _list(given.get(name, []), name) for name in GROUPS}
    total = sum(map(len, groups.values()))
    if total > MAX_CRITERIA:
        raise InvalidInput(f"the definition has {total:,} criteria; at most {MAX_CRITERIA} are allowed", field="all")
    reading = _Reading(collection, lexicon, bundles)
    read = {
        name: tuple(_criterion(item, f"{name}.{place}", reading) for place, item in enumerate(items))
        for name, items in groups.items()
    }
    definition = CohortDefinition(collection.name, **read)
    _check_concepts(definition)
    check_distances([(item.within_days, item.of) for item in definition.criteria])
    return definition


def definition_as_json(definition: CohortDefinition) -> dict[str, Any]:
    """The definition as JSON that `read_definition` reads as the same definition."""
    groups = {name: [_as_json(item) for item in getattr(definition, name)] for name in GROUPS}
    return {"collection": definition.collection, **{name: items for name, items in groups.items() if items}}


def _as_json(item: CohortCriterion) -> dict[str, Any]:
    given: dict[str, Any] = {
        "concept": item.concept,
        "bundle": item.bundle.id if item.bundle else "",
        "typed": "" if item.typed in (item.concept, item.words, item.bundle and item.bundle.name) else item.typed,
        "assertion": item.assertion if item.concepts else "",
        "words": item.words,
        "filters": filters.as_json(item.filters),
        "since": item.since.isoformat() if item.since else "",
        "until": item.until.isoformat() if item.until else "",
    }
    distance = {"within_days": item.within_days, "of": item.of}
    return {name: value for name, value in given.items() if value} | {
        name: number for name, number in distance.items() if number is not None
    }


def _criterion(value: Any, where: str, reading: _Reading) -> CohortCriterion:
    given = _object({"concept": value} if isinstance(value, str) else value, where, _KEYS)
    named, words, referred = (_text(given, name, where) for name in ("concept", "words", "bundle"))
    if own := bundle_reference(named):
        named, referred = "", referred or own
    if named and referred:
        raise InvalidInput(f"{where}: give a concept or a bundle, not both", field=f"{where}.bundle")
    bundle = _bundle(referred, f"{where}.bundle", reading) if referred else None
    criterion = CohortCriterion(
        typed=_text(given, "typed", where) or named or (bundle.name if bundle else words),
        concept=_concept(named, f"{where}.concept", reading) if named else "",
        bundle=bundle,
        assertion=_assertion(given, where) if named or bundle else CohortCriterion().assertion,
        words=words,
        filters=_filters(given.get("filters") or {}, where, reading.collection),
        since=_day(given, "since", where),
        until=_day(given, "until", where),
        within_days=_whole(given, "within_days", where),
        of=_whole(given, "of", where),
    )
    _check(criterion, where, reading.collection)
    return criterion


def _check(item: CohortCriterion, where: str, collection: Collection) -> None:
    if not (item.concepts or item.words or item.filters or item.since or item.until):
        raise InvalidInput(f"{where} asks for nothing: give a concept, a bundle, words, filters or dates", field=where)
    if item.words and not wanted_phrases(item.words):
        raise InvalidInput(
            f"{where}.words has only words that every text has: {item.words!r:.80}", field=f"{where}.words"
        )
    if item.since and item.until and item.since > item.until:
        raise InvalidInput(f"{where}: since {item.since} is after until {item.until}", field=f"{where}.since")
    dated = item.since or item.until or item.within_days is not None
    if dated and not date_field(collection):
        raise InvalidInput(f"{where}: the documents of {collection.name!r} have no date", field=f"{where}.since")


def _check_concepts(definition: CohortDefinition) -> None:
    total = sum(len(item.concepts) for item in definition.criteria)
    if total > MAX_CONCEPTS:
        raise InvalidInput(
            f"the criteria have {total:,} concepts with those of their bundles; at most {MAX_CONCEPTS:,} are allowed",
            field="all",
        )


def _concept(name: str, where: str, reading: _Reading) -> str:
    lexicon = _lexicon(where, reading)
    found = concept_named(name, lexicon)
    if found is None:
        near = nearest_names(name, lexicon)
        hint = f"; did you mean {', '.join(near)}?" if near else "; ask for 'words' instead"
        raise InvalidInput(f"{where}: {name[:80]!r} names no concept of the lexicon{hint}", field=where)
    return found.id


def _bundle(reference: str, where: str, reading: _Reading) -> TermBundle:
    lexicon = _lexicon(where, reading)
    try:
        return reading.bundles(reference).understood(lexicon)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}", field=where) from None


def _lexicon(where: str, reading: _Reading) -> ConceptLexicon:
    if reading.lexicon is None:
        raise InvalidInput(
            f"{where}: the documents of {reading.collection.name!r} are not read for concepts; ask for 'words' instead",
            field=where,
        )
    return reading.lexicon


def _assertion(given: Mapping[str, Any], where: str) -> str:
    assertion = _text(given, "assertion", where) or CohortCriterion().assertion
    if assertion not in ASSERTIONS:
        raise InvalidInput(
            f"{where}.assertion is {assertion[:40]!r}; it must be one of {', '.join(ASSERTIONS)}",
            field=f"{where}.assertion",
        )
    return assertion


def _filters(value: Any, where: str, collection: Collection) -> tuple[Filter, ...]:
    given = _object(value, f"{where}.filters", None)
    for name, own in given.items():
        if isinstance(own, dict):
            _object(own, f"{where}.filters.{name}", ("gte", "lte"))
    try:
        return filters.parse(given, collection)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}", field=f"{where}.{error.field}") from None


def _day(given: Mapping[str, Any], name: str, where: str) -> date | None:
    text = _text(given, name, where)
    if not text:
        return None
    try:
        return date.fromisoformat(text if _DAY.fullmatch(text) else "")
    except ValueError:
        raise InvalidInput(
            f"{where}.{name} must be a date as YYYY-MM-DD, and {text[:40]!r} is not one", field=f"{where}.{name}"
        ) from None


def _text(given: Mapping[str, Any], name: str, where: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise InvalidInput(
            f"{where}.{name} must be a text of at most {MAX_CHARACTERS} characters", field=f"{where}.{name}"
        )
    return value.strip()


def _whole(given: Mapping[str, Any], name: str, where: str) -> int | None:
    value = given.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise InvalidInput(f"{where}.{name} must be a whole number, not {value!r:.40}", field=f"{where}.{name}")
    return value


def _object(value: Any, where: str, known: Sequence[str] | None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be an object", field=where)
    for name in value:
        if known is not None and name not in known:
            raise InvalidInput(
                f"there is no field {str(name)[:80]!r} in {where}; known are {', '.join(known)}", field=where
            )
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"{where} must be a list of criteria", field=where)
    return value

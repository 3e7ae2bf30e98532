"""Which patients meet criteria, on a cluster: the patients of each criterion by aggregation, combined here.

An answer is of one commit: it is made again if another one became visible meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final, NamedTuple

import numpy as np

from search.document_criteria import DocumentCriterion
from search.engines.opensearch.client import Cluster, ndjson
from search.engines.opensearch.cohorts.bodies import DAY, DOCUMENT, EVERY, NAME, PatientBodies
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.errors import checked
from search.engines.opensearch.fetches import last_commit
from search.engines.opensearch.queries import WINDOW, Body, OpenSearchQueryCompiler
from search.engines.patients import Mask, MaskCache, choose
from search.memory.cache import Cache
from search.protocols import ALONE, PatientDocuments, PatientsAnswer, PatientsRequest

_ATTEMPTS: Final = 4
_KEPT: Final = 8
_TOGETHER: Final = 64
_DAY_MILLISECONDS: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_KEYS_ONLY: Final = {
    "filter_path": "responses.status,responses.error,responses.timed_out,responses._shards.failed,"
    "responses.aggregations.patients.after_key,responses.aggregations.patients.buckets.key"
}
_NOTHING: Final[Mapping[str, Mapping[str, Any]]] = {"patients": {}}

Key = Mapping[str, Any]
"""The key of a bucket: `NAME`, and `DAY` where the lookup is dated."""

Pair = tuple[str, int]
"""A patient, and the day of one of the patient's documents."""


class KnownPatients:
    """All patients that a caller may see in one commit, sorted, and for the criteria asked so far who meets them."""

    def __init__(self, names: Collection[str], has_alone: bool) -> None:
        self.names = tuple(sorted(names))
        self.has_alone = has_alone
        self.masks = MaskCache()
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def mask(self, names: Iterable[str]) -> Mask:
        """The mask of `names`, of shape (all names,)."""
        found = np.zeros(len(self.names) + 1, bool)
        nobody = len(self.names)  # a name that came with another commit
        found[[self._numbers.get(name, nobody) for name in names]] = True
        return found[:-1]


class KnownCache(Cache[KnownPatients]):
    """What was found last, of a few commits and callers; `commits` are the newest ones seen, by index."""

    def __init__(self) -> None:
        super().__init__(_KEPT)
        self.commits: dict[str, int] = {}


class PatientLookup(NamedTuple):
    """One aggregation: the patients of a criterion, with the days of their documents if it is `dated`."""

    criterion: DocumentCriterion
    alone: bool
    dated: bool = False


class FoundDocument(NamedTuple):
    """A document of a patient, and the day of its date."""

    document: str
    patient: str
    day: int | None


class ClusterPatients:
    """Answers one request."""

    def __init__(
        self,
        cluster: Cluster,
        index: OpenSearchIndexDescription,
        compiler: OpenSearchQueryCompiler,
        kept: KnownCache,
        request: PatientsRequest,
    ) -> None:
        self._cluster, self._index, self._kept, self._request = cluster, index, kept, request
        self._bodies = PatientBodies(request, compiler)

    def answer(self) -> PatientsAnswer:
        """The page of patients, and the counts."""
        expected = self._kept.commits.get(self._index.name)
        for _ in range(_ATTEMPTS):
            commit = self._commit() if expected is None else expected
            answer = self._answer(commit)
            expected = self._kept.commits[self._index.name] = self._commit()
            if expected == commit:
                break
        return answer

    def _answer(self, commit: int) -> PatientsAnswer:
        known = self._known(commit)
        near = self._near(known)
        met = self._met(known, near)
        page, answer = choose(self._request, known.names, np.ones(len(known.names), bool), met)
        return replace(answer, patients=self._page([known.names[number] for number in page], near))

    def _known(self, commit: int) -> KnownPatients:
        request = self._request
        key = (self._index.name, commit, request.access.key, request.group_by, request.withheld)
        known = self._kept.get(key)
        if known is None:
            own, alone = PatientLookup(EVERY, alone=False), PatientLookup(EVERY, alone=True)
            found = self._look_up([alone] if request.group_by == DOCUMENT else [own, alone])
            names = {name for item, keys in found.items() for name in self._names(item, keys)}
            known = self._kept.put(key, KnownPatients(names, bool(found[alone])))
        return known

    def _met(self, known: KnownPatients, near: Mapping[int, set[Pair]]) -> list[Mask]:
        """For each criterion the patients who meet it."""
        plain = [replace(item, within_days=None, of=None) for item in self._request.criteria]
        kept = {item: known.masks.get(item, len(known.names)) for item in plain}
        masks = {item: mask for item, mask in kept.items() if mask is not None}
        missing = [item for item in kept if item not in masks]
        for item, names in self._patients_of(missing, known).items():
            masks[item] = known.masks.put(item, known.mask(names))
        return [
            known.mask(name for name, _ in near[number]) if asked.of is not None else masks[item]
            for number, (asked, item) in enumerate(zip(self._request.criteria, plain, strict=True))
        ]

    def _patients_of(
        self, criteria: Sequence[DocumentCriterion], known: KnownPatients
    ) -> dict[DocumentCriterion, list[str]]:
        found = self._look_up(_lookups(criteria, self._request.group_by, known, dated=False))
        names: dict[DocumentCriterion, list[str]] = {item: [] for item in criteria}
        for lookup, keys in found.items():
            names[lookup.criterion] += self._names(lookup, keys)
        return names

    def _near(self, known: KnownPatients) -> dict[int, set[Pair]]:
        """For each criterion that counts days, and those from which it does: who meets it, and on which days."""
        criteria = self._request.criteria
        dated = {number for number, item in enumerate(criteria) if item.of is not None}
        dated |= {item.of for item in criteria if item.of is not None}
        plain = {number: replace(criteria[number], within_days=None, of=None) for number in dated}
        lookups = _lookups(set(plain.values()), self._request.group_by, known, dated=True)
        found: dict[DocumentCriterion, set[Pair]] = {item: set() for item in plain.values()}
        for lookup, keys in self._look_up(lookups).items():
            days = [key[DAY] // _DAY_MILLISECONDS + _EPOCH for key in keys if key[NAME]]
            found[lookup.criterion].update(zip(self._names(lookup, keys), days, strict=True))
        done: dict[int, set[Pair]] = {}

        def near(number: int) -> set[Pair]:
            if number not in done:
                item, own = criteria[number], found[plain[number]]
                done[number] = own if item.of is None else _within(own, near(item.of), item.within_days or 0)
            return done[number]

        return {number: near(number) for number in dated}

    def _page(self, names: Sequence[str], near: Mapping[int, set[Pair]]) -> tuple[PatientDocuments, ...]:
        if self._request.names_only:
            return tuple(map(PatientDocuments, names))
        criteria = self._request.criteria
        plain = [replace(item, within_days=None, of=None) for item in criteria]
        found = self._documents_of(dict.fromkeys((EVERY, *plain)), names) if names else {}
        documents: dict[str, list[str]] = {name: [] for name in names}
        for item in found.get(EVERY, ()):
            documents[item.patient].append(item.document)
        meeting: dict[str, list[list[str]]] = {name: [[] for _ in criteria] for name in names}
        for number, (asked, own) in enumerate(zip(criteria, plain, strict=True)):
            for item in found.get(own, ()):
                if asked.of is None or (item.patient, item.day) in near[number]:
                    meeting[item.patient][number].append(item.document)
        return tuple(
            PatientDocuments(name, tuple(sorted(documents[name])), tuple(tuple(sorted(own)) for own in meeting[name]))
            for name in names
        )

    def _documents_of(
        self, criteria: Iterable[DocumentCriterion], names: Sequence[str]
    ) -> dict[DocumentCriterion, list[FoundDocument]]:
        found: dict[DocumentCriterion, list[FoundDocument]] = {item: [] for item in criteria}
        pending: dict[DocumentCriterion, Sequence[Any]] = dict.fromkeys(found, ())
        while pending:
            bodies = [self._bodies.documents(item, names, after) for item, after in pending.items()]
            answers = dict(zip(pending, self._search(bodies, {}), strict=True))
            pending = {}
            for item, answer in answers.items():
                hits = answer["hits"]["hits"]
                found[item] += [own for hit in hits for own in self._read(hit["fields"], frozenset(names))]
                if len(hits) == WINDOW:
                    pending[item] = hits[-1]["sort"]
        return found

    def _read(self, fields: Mapping[str, Any], names: Collection[str]) -> Iterator[FoundDocument]:
        (document,) = fields[DOCUMENT]
        dates = fields.get(f"fields.{self._request.date}", ())
        day = date.fromisoformat(dates[0]).toordinal() if dates else None
        alone = document if self._request.group_by == DOCUMENT else f"{ALONE}{document}"
        patients = [name for name in fields.get(self._bodies.field, ()) if name]
        for name in patients or [alone]:
            if name in names:
                yield FoundDocument(document, name, day)

    def _look_up(self, lookups: Iterable[PatientLookup]) -> dict[PatientLookup, list[Key]]:
        """For each lookup the key of every bucket: the same page of all of them at once."""
        found: dict[PatientLookup, list[Key]] = {item: [] for item in lookups}
        pending: dict[PatientLookup, Key | None] = dict.fromkeys(found)
        while pending:
            bodies = [self._bodies.names(*item, after) for item, after in pending.items()]
            answers = dict(zip(pending, self._search(bodies, _KEYS_ONLY), strict=True))
            pending = {}
            for item, answer in answers.items():
                own = answer.get("aggregations", _NOTHING)["patients"]
                found[item] += [bucket["key"] for bucket in own.get("buckets", ())]
                after = self._bodies.next_page(own)
                if after is not None:
                    pending[item] = after
        return found

    def _names(self, item: PatientLookup, keys: Iterable[Key]) -> list[str]:
        """The patients in the keys of buckets; an empty name is none."""
        if item.alone and self._request.group_by != DOCUMENT:
            return [f"{ALONE}{key[NAME]}" for key in keys if key[NAME]]
        return [key[NAME] for key in keys if key[NAME]]

    def _commit(self) -> int:
        (answer,) = self._search([last_commit()], {})
        return int(answer["aggregations"]["commit"]["value"] or 0)

    def _search(self, bodies: Sequence[Body], params: Mapping[str, str]) -> list[Mapping[str, Any]]:
        # Always the same copies of the shards: copies show a commit at slightly different moments.
        header: Body = {"index": self._index.physical, "preference": "patients", "allow_partial_search_results": False}
        answers: list[Mapping[str, Any]] = []
        for start in range(0, len(bodies), _TOGETHER):
            lines = [line for body in bodies[start : start + _TOGETHER] for line in (header, body)]
            read = self._cluster.read("POST", "/_msearch", ndjson(lines), params)["responses"]
            answers += [checked(answer, self._cluster.where) for answer in read]
        return answers


def _lookups(
    criteria: Iterable[DocumentCriterion], group_by: str, known: KnownPatients, dated: bool
) -> list[PatientLookup]:
    grouped = () if group_by == DOCUMENT else (False,)
    kinds = (*grouped, *((True,) if known.has_alone else ()))
    return [PatientLookup(item, alone, dated) for item in criteria for alone in kinds]


def _within(own: Iterable[Pair], others: Iterable[Pair], days: int) -> set[Pair]:
    """Those of `own` with one of `others` of the same patient at most `days` before or after."""
    moments: dict[str, list[int]] = {}
    for name, day in sorted(others):
        moments.setdefault(name, []).append(day)
    return {(name, day) for name, day in own if _has_near(moments.get(name, ()), day, days)}


def _has_near(moments: Sequence[int], day: int, days: int) -> bool:
    place = bisect_left(moments, day - days)
    return place < len(moments) and moments[place] <= day + days

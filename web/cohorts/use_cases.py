"""What a caller can do with cohorts: see their patients, compare two, and export one.

Each action is written to the access log before its result is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import IO, Any, Final

from mappings.bundles import TermBundle
from mappings.clinical.concepts import shipped_concepts
from mappings.errors import InvalidInput, MedleyError, Unavailable
from search.cohorts.comparison import CohortComparison, compare
from search.cohorts.definition import CohortDefinition
from search.cohorts.read import definition_as_json
from search.cohorts.results import CohortPage, CohortPatient
from search.cohorts.run import cohort, cohort_ids
from web.cohorts.forms import (
    CohortComparisonForm,
    CohortDefinitionForm,
    CohortExportForm,
    CohortForm,
    CohortPageForm,
)
from web.cohorts.paging import Pause, all_pages, no_pause
from web.exports.cohort_export import CohortExport
from web.exports.formats import EXPORTS
from web.kept.bundles import named_bundle
from web.kept.use_cases import KeptUseCases
from web.serving import cohort_limits
from web.statuses import status_of
from web.use_cases import UseCases
from web.validation import validated

EXPORT_PAGE: Final = 100
"""Patients that an export reads at a time."""


@dataclass(slots=True)
class ExportedCohort:
    """How many patients an export has so far, the documents of its sentences, and what failed or is missing."""

    patients: int = 0
    documents: dict[str, None] = field(default_factory=dict)
    degraded: dict[str, None] = field(default_factory=dict)

    def counted(self, pages: Iterable[CohortPage]) -> Iterator[CohortPatient]:
        """The patients of the pages, counted as they pass."""
        for page in pages:
            self.degraded |= dict.fromkeys(page.degraded)
            for patient in page.patients:
                self.patients += 1
                self.documents |= dict.fromkeys(_documents([patient]))
                yield patient


@dataclass(frozen=True, slots=True)
class CohortUseCases:
    """What the caller of `use_cases` can do with cohorts."""

    use_cases: UseCases

    def page(self, form: CohortPageForm) -> tuple[CohortPage, CohortExport]:
        """The page of a cohort that `form` asks for, and its definition."""
        definition = self._definition(form, "cohort")
        cohort_limits.check_page(definition, form.size)
        with self._logged("cohort", definition, _asked(definition)) as (asked, shown):
            page = self._cohort(definition, form.after, form.size)
            asked |= {"page": "next"} if form.after else {}
            asked["patients"] = [item.patient for item in page.patients]
            shown |= dict.fromkeys(_documents(page.patients))
        return page, self._export(definition)

    def comparison(self, form: CohortComparisonForm, pause: Pause = no_pause) -> CohortComparison:
        """The page of a comparison that `form` asks for. Raises `InvalidInput`, also for a cohort that is too large."""
        action = "compare-cohorts"
        definitions = {}
        for name, side in (("a", form.a), ("b", form.b)):
            with _named(name):
                definitions[name] = self._definition(side, action)
        wanted = {name: definition_as_json(item) for name, item in definitions.items()}
        with self._logged(action, definitions["a"], wanted) as (asked, _):
            degraded: list[str] = []
            a, b = (self._ids(name, item, pause, degraded) for name, item in definitions.items())
            compared = compare(a, b, form.after, form.size, degraded)
            lists = (compared.both, compared.only_a, compared.only_b)
            asked |= {"page": "next"} if form.after else {}
            asked["patients"] = [name for item in lists for name in item.patients]
        return compared

    def export(self, form: CohortExportForm, file: IO[bytes], pause: Pause = no_pause) -> ExportedCohort:
        """Write a cohort to `file` in the format that `form` names; it is logged before this returns.

        Raises `InvalidInput`, also for a cohort that is too large, and `Unavailable` if its index was replaced meanwhile or
        the file cannot be written.
        """
        definition = self._definition(form, "export-cohort")
        exported = ExportedCohort()
        with self._logged("export-cohort", definition, {"format": form.format} | _asked(definition)) as (asked, shown):
            patients = exported.counted(self._pages(definition, pause))
            _write(EXPORTS[form.format].write(patients, self._export(definition)), file)
            asked |= {"patients": exported.patients, "documents": len(exported.documents)}
            shown |= exported.documents
        return exported

    def bundle(self, reference: str) -> TermBundle:
        """The bundle of that id or name that the caller may see. Raises `InvalidInput`."""
        return named_bundle(reference, self.use_cases)

    def _definition(self, form: CohortForm, action: str) -> CohortDefinition:
        """What `form` asks for, or the kept cohort that it names. Raises `InvalidInput`, and `NotFound` for an unknown one."""
        if not form.kept:
            return self._defined(form, action)
        if form.all or form.any or form.none:
            raise InvalidInput("give a kept cohort or criteria, not both", field="kept")
        item = KeptUseCases(self.use_cases).get(form.kept)
        if item.kind != "cohort":
            raise InvalidInput(f"the kept item is a {item.kind}, not a cohort", field="kept")
        with _named("kept"):
            content = {"collection": item.collection or form.collection} | dict(item.content)
            return self._defined(validated(CohortDefinitionForm, content), action)

    def _defined(self, form: CohortDefinitionForm, action: str) -> CohortDefinition:
        if not form.collection:
            raise InvalidInput("collection is missing", field="collection")
        collection = self.use_cases.named(form.collection, action)
        reader = self.use_cases.medley.collections.reader_of(collection)
        return form.definition(collection, reader.lexicon if reader else None, self.bundle)

    def _export(self, definition: CohortDefinition) -> CohortExport:
        collections = self.use_cases.medley.collections
        reader = collections.reader(definition.collection)
        return CohortExport(
            definition,
            reader.lexicon if reader else shipped_concepts(),
            datetime.now(UTC).date(),
            f"Medley {version('medley')}" + (f" ({reader.version})" if reader else ""),
            collections.get(definition.collection).invented,
        )

    def _cohort(self, definition: CohortDefinition, after: str, size: int) -> CohortPage:
        return cohort(definition, self.use_cases.caller.access, self.use_cases.medley.services, after, size)

    def _pages(self, definition: CohortDefinition, pause: Pause) -> Iterator[CohortPage]:
        size = cohort_limits.page_size(definition, EXPORT_PAGE)
        return all_pages(lambda after: self._cohort(definition, after, size), self.use_cases.medley.settings, pause)

    def _ids(self, side: str, definition: CohortDefinition, pause: Pause, degraded: list[str]) -> frozenset[str]:
        """The ids of all patients of one side of a comparison; what is missing is added to `degraded`."""
        access, medley = self.use_cases.caller.access, self.use_cases.medley
        found: set[str] = set()
        with _named(side):
            for page in all_pages(
                lambda after: cohort_ids(definition, access, medley.services, after), medley.settings, pause
            ):
                found.update(page.patients)
                degraded += page.degraded
        return frozenset(found)

    @contextmanager
    def _logged(
        self, action: str, definition: CohortDefinition, asked: dict[str, Any]
    ) -> Iterator[tuple[dict[str, Any], dict[str, None]]]:
        """Log what the block does, even if it raises; the block adds details, and the ids of the documents it shows."""
        shown: dict[str, None] = {}
        try:
            yield asked, shown
        except MedleyError as error:
            self.use_cases.audit(action, definition.collection, asked, status=status_of(error))
            raise
        self.use_cases.audit(action, definition.collection, asked, list(shown))


def _asked(definition: CohortDefinition) -> dict[str, Any]:
    return {"definition": definition_as_json(definition)}


def _write(pieces: Iterable[str], file: IO[bytes]) -> None:
    for piece in pieces:
        try:
            file.write(piece.encode())
        except OSError as error:
            raise Unavailable(f"the export cannot be written: {error.strerror or error}") from error


def _documents(patients: Iterable[CohortPatient]) -> Iterator[str]:
    """The documents whose sentences are shown."""
    for patient in patients:
        for standing in patient.standings:
            yield from (item.document for item in standing.evidence)


@contextmanager
def _named(side: str) -> Iterator[None]:
    """An error of the block names which of two cohorts is at fault: `a.all.2.concept`."""
    try:
        yield
    except MedleyError as error:
        raised = copy(error)  # whoever raised the error may have kept it
        raised.field = f"{side}.{error.field}" if error.field else side
        raise raised from error

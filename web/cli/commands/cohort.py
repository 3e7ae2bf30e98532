"""`medley cohort`: the patients who meet criteria over all of their documents, comparisons, and exports."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click

from mappings.errors import InvalidInput
from web.cli.common import json_option, open_medley, open_use_cases, show
from web.cli.standard_input import DASH, read_text

if TYPE_CHECKING:
    from web.cohorts.answers import CohortAnswer, CohortCriterionJson, CohortPatientJson, ComparisonAnswer
    from web.cohorts.use_cases import CohortUseCases

FORMATS: Final = ("csv", "omop", "fhir")
KEPT: Final = "kept:"
_GROUPS: Final = {"all": "", "any": "any of: ", "none": "none with: "}
_CRITERIA: Final = (
    ("--with", "having", "all", "present", "Patients with it: a document says that it is present."),
    ("--without", "lacking", "none", "present", "Patients of whom no document says that it is present."),
    ("--ruled-out", "ruled_out", "all", "ruled-out", "Patients of whom a document rules it out."),
    ("--family", "family", "all", "family", "Patients with a relative who has it."),
)
"""(option, its name, group, assertion, help)."""

Command = TypeVar("Command", bound=Callable[..., Any])

collection_option = click.option("--collection", "-c", default="", help="The collection; by default the definition's.")
labels_option = click.option(
    "--label", "labels", multiple=True, help="See only documents with this label; can be repeated. Default: all."
)


def _criteria_options(command: Command) -> Command:
    """The options of simple definitions."""
    since = click.option("--since", default=None, help="Count only documents since this date, for every option here.")
    command = since(command)
    for option, name, _, _, text in reversed(_CRITERIA):
        command = click.option(option, name, multiple=True, help=f"{text} Can be repeated.")(command)
    return command


@click.group()
def cohort() -> None:
    """Find the patients who meet criteria over all of their documents.

    A definition is a JSON file, - for the standard input, kept:ID for a kept cohort, or is given by options.
    """


@cohort.command()
@click.argument("definition", default="", metavar="[FILE|-|kept:ID]")
@collection_option
@_criteria_options
@click.option("--size", type=int, default=20, show_default=True, help="Patients on a page.")
@click.option("--after", default="", help="Show the patients after this one.")
@labels_option
@json_option
def run(definition: str, labels: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """Show the patients of a cohort, with the sentences for each criterion."""
    from web.cohorts.answers import CohortAnswer
    from web.cohorts.forms import CohortPageForm
    from web.validation import validated

    page = {"size": asked.pop("size"), "after": asked.pop("after")}
    form = validated(CohortPageForm, _definition(definition, asked) | page)
    answer = CohortAnswer.of(*_use_cases(labels).page(form))
    show(answer.model_dump(), as_json, lambda: "\n".join(_cohort_lines(answer)))


@cohort.command()
@click.argument("a", metavar="FILE_A")
@click.argument("b", metavar="FILE_B")
@collection_option
@click.option("--size", type=int, default=100, show_default=True, help="Patients of each list.")
@click.option("--after", default="", help="Show the patients after this one.")
@labels_option
@json_option
def compare(a: str, b: str, collection: str, size: int, after: str, labels: tuple[str, ...], as_json: bool) -> None:
    """Show which patients are in both cohorts, and which in one only."""
    from web.cohorts.answers import ComparisonAnswer
    from web.cohorts.forms import CohortComparisonForm
    from web.validation import validated

    if a == b == DASH:
        raise InvalidInput("only one of two definitions can come from the standard input", field="b")
    given = {"collection": collection}
    sides = {"a": _definition(a, dict(given)), "b": _definition(b, dict(given))}
    form = validated(CohortComparisonForm, sides | {"size": size, "after": after})
    answer = ComparisonAnswer.of(_use_cases(labels).comparison(form))
    show(answer.model_dump(), as_json, lambda: "\n".join(_comparison_lines(answer)))


@cohort.command()
@click.argument("definition", default="", metavar="[FILE|-|kept:ID]")
@collection_option
@_criteria_options
@click.option("--format", "format_", type=click.Choice(FORMATS), default="csv", show_default=True, help="The format.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to the terminal."
)
@labels_option
def export(definition: str, format_: str, output: Path | None, labels: tuple[str, ...], **asked: Any) -> None:
    """Export a cohort as CSV, as rows of OMOP's NOTE_NLP, or as a FHIR bundle."""
    from web.cohorts.forms import CohortExportForm
    from web.validation import validated

    form = validated(CohortExportForm, _definition(definition, asked) | {"format": format_})
    use_cases = _use_cases(labels)
    with TemporaryFile(dir=use_cases.use_cases.medley.settings.home) as file:
        exported = use_cases.export(form, file)
        file.seek(0)
        _deliver(file, output)
    for item in exported.degraded:
        click.echo(f"! {item}", err=True)
    documents = len(exported.documents)
    click.echo(f"exported {_counted(exported.patients, 'patient')} with {_counted(documents, 'document')}", err=True)


def _use_cases(labels: tuple[str, ...]) -> CohortUseCases:
    from web.cohorts.use_cases import CohortUseCases

    return CohortUseCases(open_use_cases(open_medley(), labels=labels))


def _deliver(file: IO[bytes], output: Path | None) -> None:
    if output is None:
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with output.open("wb") as target:
        shutil.copyfileobj(file, target)


def _definition(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The definition in a file or in the options, as a JSON value. Raises `InvalidInput` for neither, and for both."""
    collection, groups = asked.pop("collection"), _of_options(asked)
    if name and groups:
        raise InvalidInput("give the criteria in the file or as options, not both", field="definition")
    if not name and not groups:
        raise InvalidInput("give a file with a definition, or criteria such as --with pneumonia", field="definition")
    given = _read(name) if name else groups
    return given | ({"collection": collection} if collection else {})


def _of_options(asked: dict[str, Any]) -> dict[str, Any]:
    since = {"since": asked["since"]} if asked.get("since") else {}
    groups: dict[str, Any] = {}
    for _, option, group, assertion, _ in _CRITERIA:
        for concept in asked.get(option, ()):
            groups.setdefault(group, []).append({"concept": concept, "assertion": assertion} | since)
    return groups


def _read(name: str) -> dict[str, Any]:
    from web.validation import parse_json

    if name.startswith(KEPT):
        return {"kept": name.removeprefix(KEPT)}
    value = parse_json(read_text().encode() if name == DASH else Path(name).read_bytes())
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: a definition is a JSON object with 'all', 'any' or 'none'", field="definition")
    return value


def _cohort_lines(answer: CohortAnswer) -> Iterator[str]:
    yield f"{answer.total:,} of {_counted(answer.patients_known, 'patient')} meet the definition"
    if answer.invented:
        yield "the documents of this collection are invented"
    yield from (f"! {item}" for item in (*answer.degraded, *answer.notes))
    for item in answer.criteria:
        yield f"  {_GROUPS[item.group]}{item.criterion}: {_counted(item.patients, 'patient')} by itself"
    for patient in answer.patients:
        yield from ("", *_patient_lines(patient, answer.criteria))
    if answer.next:
        yield ""
        yield click.style(f"there are more patients: --after {answer.next}", dim=True)


def _patient_lines(patient: CohortPatientJson, criteria: list[CohortCriterionJson]) -> Iterator[str]:
    documents = click.style(_counted(patient.documents, "document"), dim=True)
    yield f"{click.style(patient.patient, bold=True)}  {documents}"
    for item, standing in zip(criteria, patient.standings, strict=True):
        yield f"    {_GROUPS[item.group]}{item.criterion}: {standing.standing}"
        for found in standing.evidence:
            place = " · ".join(filter(None, (found.date, found.type, found.document)))
            yield f"        {' '.join(found.text.split())}  {click.style(place, dim=True)}"


def _comparison_lines(answer: ComparisonAnswer) -> Iterator[str]:
    yield from (f"! {item}" for item in answer.degraded)
    for title, item in (("both", answer.both), ("only A", answer.only_a), ("only B", answer.only_b)):
        yield f"{title}: {_counted(item.total, 'patient')}"
        yield from (f"    {name}" for name in item.patients)
        if item.next:
            yield click.style(f"    there are more: --after {item.next}", dim=True)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""`medley evaluate`, `tune` and `bench`: every published figure is printed by one of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluation.bench.registry import NAMES, choose_benches, load_benches
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.settings import Settings, read
from web.cli.common import counter, json_option, show

if TYPE_CHECKING:
    from evaluation.suite import SuiteOptions
    from evaluation.tuning.weights import TuningOptions
    from mappings.collection import Collection

folder_type = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("suite")
@click.argument("target", metavar="[FOLDER|COLLECTION]", default="")
@click.option("--queries", type=int, default=None, help="A fixed sample of so many queries (experts: of each year).")
@click.option("--full", is_flag=True, help="Search all passages instead of the candidates of the protocol.")
@click.option("--distractors", is_flag=True, help="Add the pool of abstracts to the corpus.")
@click.option("--split", default="test", show_default=True, help="For beir and claims: the split of the judgements.")
@click.option("--kind", default="abstracts", show_default=True, help="For beir: the collection kind.")
@click.option("--no-rerank", is_flag=True, help="Leave out the cross-encoder.")
@click.option("--no-variants", is_flag=True, help="Only the main rows.")
@click.option("--simple", is_flag=True, help="Also rank by BM25 and untrained MiniLM at equal shares (extra train).")
@click.option(
    "--reading",
    default="whole",
    help="The part of an abstract that is read: whole, A or B (scifact, check-covid, claims).",
)
@click.option(
    "--folds", type=folder_type, default=None, help="For radiology: the folder of the models or runs fold-1 and fold-2."
)
@click.option("--baseline", default="", help="For medquad and radiology: a further bi-encoder, by name or path.")
@click.option(
    "--systems",
    type=folder_type,
    default=None,
    help="For medquad, notes and claims: the folder of trained systems of papers, or their runs.",
)
@click.option("--across", default="", help="For radiology: a bi-encoder or run trained on other reports' findings.")
@click.option(
    "--reports",
    default="indiana",
    show_default=True,
    help="For radiology: the reports whose sentences are ranked; mtsamples are notes of radiology.",
)
@click.option("--half", default="", help="For assertion: the open or the kept half of the sentences.")
@click.option("--mistakes", is_flag=True, help="For assertion: print the mistakes in the open half.")
@click.option("--year", type=int, default=None, help="For experts: the questions of one year, 1 to 10.")
@click.option("--report", type=folder_type, default=None, help="Write the JSON to this folder, and its page FOLDER.md.")
@click.option("--again", is_flag=True, help="For all: also run what the report folder already holds.")
@click.option("--quick", is_flag=True, help="For all: fixed samples, and nothing over the pool of abstracts.")
@json_option
def evaluate(
    suite: str,
    target: str,
    report: Path | None,
    as_json: bool,
    no_rerank: bool,
    no_variants: bool,
    **chosen: Any,
) -> None:
    """Measure each stage on SUITE, or on all.

    Suites: scifact, check-covid, medquad, notes, press, cystic-fibrosis, evidence, citations, lay, answers, experts,
    radiology, findings, forms, polarity, assertion, stance, rationales, nothing-here, transfer, claims [FOLDER], beir
    FOLDER, lookups [COLLECTION].

    With --report, `all` skips what was measured with the same models, settings and data, so an interrupted run continues.
    """
    from evaluation.suite import SuiteOptions

    quick, again = chosen.pop("quick"), chosen.pop("again")
    if suite != "all" and (quick or again):
        raise InvalidInput("--quick and --again are for `medley evaluate all`", field="quick" if quick else "again")
    options = SuiteOptions(rerank=not no_rerank, variants=not no_variants, **_target(suite, target), **chosen)
    steps = _all(options, quick) if suite == "all" else [(suite, options)]
    reports = []
    for name, form in steps:
        reports.append(_evaluated(name, form, report, resume=suite == "all" and not again))
        if not as_json:
            _print(reports[-1])
    if as_json:
        show(reports[0] if suite != "all" else reports, True)


def _target(suite: str, given: str) -> dict[str, Any]:
    """The option that the word after SUITE is: a collection for a suite of collections, otherwise a folder."""
    from evaluation.suites.registry import SUITES

    if not given:
        return {}
    known = SUITES[suite].options if suite in SUITES else ()
    return {"collection": given} if "collection" in known else {"folder": Path(given)}


def _all(options: SuiteOptions, quick: bool) -> Sequence[tuple[str, SuiteOptions]]:
    """The steps of `all`; the models of radiology, one of the last, are opened now rather than hours later."""
    from evaluation.plan import plan, require_standalone_models

    steps = list(plan(options, quick))
    require_standalone_models(options, read())
    return steps


def _evaluated(name: str, options: SuiteOptions, folder: Path | None, resume: bool) -> dict[str, Any]:
    """The report of one suite: the one in `folder` if it can be reused, or a new one, written there."""
    from evaluation.plan import find_kept, identity, renew
    from evaluation.reporting.page import file_of
    from evaluation.run import run_suite

    settings, made_of = read(), ""
    if folder:
        command, made_of = identity(name, options, settings)
        found = find_kept(file_of(folder, command), made_of) if resume else None
        if found:
            _keep(found := renew(found, name, options, settings), folder)
            return found
    with counter(name) as shown:
        report = run_suite(name, options, settings, shown)
    if folder:
        report["identity"] = made_of
        _keep(report, folder)
    return report


def _print(report: dict[str, Any]) -> None:
    from rich.console import Console

    from evaluation.reporting.reports import show as print_report

    print_report(report, Console())


def _keep(report: dict[str, Any], folder: Path) -> None:
    from evaluation.reporting.page import file_of, write_page

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    file_of(folder, report["command"]).write_text(text, encoding="utf-8")
    write_page(folder, folder.with_suffix(".md"))


@click.command()
@click.argument("kind")
@click.option("--folder", type=folder_type, default=None, help="Your own judgements, in the format of BEIR.")
@click.option("--split", default="train", show_default=True, help="The split of the judgements in the folder.")
@click.option("--queries", type=int, default=None, help="A fixed sample of so many queries.")
@click.option("--no-rerank", is_flag=True, help="Tune the fusion only.")
@click.option("--collection", "-c", default=None, help="Write the weights into the folder of this collection.")
@json_option
def tune(kind: str, collection: str | None, no_rerank: bool, as_json: bool, **chosen: Any) -> None:
    """Tune fusion and reranking weights of a collection KIND on training judgements.

    `transfer` in place of a kind tunes abstracts and articles alike, on the data sets left out of training; `answers` fits the
    weights of the probability that a hit answers, for the kind's file.
    """
    from evaluation.tuning import answers, left_out, weights

    settings = read()
    options = weights.TuningOptions(rerank=not no_rerank, **chosen)
    if kind == answers.NAME:
        _tune_answers(settings, options, collection, as_json)
        return
    if collection:
        _require_kind(Medley.open(settings).collections.get(collection), kind)  # fails now rather than after the tuning
    with counter("tuning") as shown:
        report = (
            left_out.run(settings, options, shown)
            if kind == left_out.NAME
            else weights.run(kind, settings, options, shown)
        )
    show(report, as_json, lambda: _tuned(report) + "\n\n" + weights.toml(report))
    if collection:
        Medley.open(settings).collections.tune(collection, weights.toml(report))


def _tune_answers(settings: Settings, options: TuningOptions, collection: str | None, as_json: bool) -> None:
    from evaluation.tuning import answers

    if collection:
        raise InvalidInput(
            "the weights of answers stand in the kind's file: leave out --collection", field="collection"
        )
    with counter("tuning") as shown:
        report = answers.run(settings, options, shown)
    show(report, as_json, lambda: answers.toml(report))


def _require_kind(collection: Collection, kind: str) -> None:
    if collection.kind not in {kind, *LIKE.get(kind, ())}:
        raise InvalidInput(
            f"the collection {collection.name!r} is of the kind {collection.kind}; weights tuned for {kind} do not apply to it",
            field="collection",
        )


def _tuned(report: dict[str, Any]) -> str:
    measure = report["measure"]

    def row(name: str, value: dict[str, float]) -> str:
        return f"{name:44} {value['value']:.4f} ({value['low']:.4f}–{value['high']:.4f})"

    fused = [
        row(f"{item['method']} {item['normalisation']} {item['weights']}", item[measure]) for item in report["grid"]
    ]
    shares = [row(f"rerank weight {item['weight']}", item[measure]) for item in report["rerank"]]
    others = [
        row(f"{item['data_set']}, by what all others choose", item[measure]) for item in report.get("left_out", ())
    ]
    return "\n".join([f"{measure} over {report['queries']} questions", *fused, *shares, *others])


LIKE = {"notes": ("reports",), "transfer": ("abstracts", "articles")}
"""Kinds that weights apply to, beside the one that they were tuned for: there are no judgements for reports."""


OPTIONS = {"windows": ("scale", "growth"), "minutes": ("soak",), "sample": ("peers",), "python": ("peers",)}
"""Option of `medley bench` -> the benches that have it."""


@click.command()
@click.argument("name", type=click.Choice([*NAMES, "all"]))
@click.option("--windows", type=click.IntRange(1_000), default=None, help="For scale and growth: how many windows.")
@click.option("--minutes", type=click.FloatRange(0.1), default=None, help="For soak: how long; an hour by default.")
@click.option("--sample", type=click.IntRange(1), default=None, help="For peers: only the first so many claims.")
@click.option(
    "--python",
    type=click.Path(path_type=str),
    default=None,
    help="For peers: the Python interpreter that has the other systems, if it is not Medley's own.",
)
@json_option
def bench(name: str, as_json: bool, **chosen: Any) -> None:
    """Measure speed and memory.

    `all` leaves out gpu, which needs a GPU, cascade, poly and discourse, whose models are not shipped, scale and growth, which
    build gigabytes, soak, which takes an hour and needs a queue (MEDLEY_REDIS), peers, which needs other systems (extra peers),
    and plugin, which needs ML Commons on a cluster; agreement, fusion, bulk, swap and ingest need a cluster (MEDLEY_OPENSEARCH).
    """
    benches, settings = load_benches(), read()
    options = {option: value for option, value in chosen.items() if value is not None}
    for option in options:
        if name not in OPTIONS[option]:
            raise InvalidInput(f"--{option} is for {' and '.join(OPTIONS[option])}, not for {name}", field=option)
    for bench_name in choose_benches(name, settings):
        report = benches[bench_name](settings, **options)
        show(report, as_json, lambda: _figures(report))  # noqa: B023 - called at once


def _figures(report: dict[str, Any]) -> str:
    lines = [f"bench {report['bench']} on {json.dumps(report['machine'], ensure_ascii=False)}"]
    return "\n".join([*lines, *(f"  {name:32} {value:.4g}" for name, value in report["figures"].items())])

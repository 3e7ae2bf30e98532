"""`medley search`."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mappings.documents import EVERY_LABEL, Access
from web.cli.common import json_option, open_medley, show

if TYPE_CHECKING:
    from search.pipeline.results import Results
from search.query import Query

PATIENCE_MS = 10_000
"""A process that answers one search waits for the whole answer; a collection's deadline is meant for a running gateway."""


@click.command()
@click.argument("text", default="")
@click.option("--collection", "-c", required=True, help="The collection to search.")
@click.option("--entity", default="", help="A disease, drug or procedure.")
@click.option("--aspect", default="", help="What about it, such as treatment.")
@click.option("--with", "having", multiple=True, help="A finding that should be there; may be repeated.")
@click.option("--without", "lacking", multiple=True, help="A finding that should not be there; may be repeated.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="FIELD=VALUE",
    help="year=2015..2020, type=Radiology; may be repeated.",
)
@click.option("--size", type=int, default=10, show_default=True, help="Hits on a page.")
@click.option("--cursor", default=None, help="The cursor of the page before.")
@click.option("--sort", default="relevance", show_default=True, help="relevance, or a field; - before it: descending.")
@click.option("--explain", is_flag=True, help="Say why each hit stands where it stands.")
@click.option("--no-rerank", is_flag=True, help="Show the fused order.")
@click.option(
    "--deadline-ms",
    type=int,
    default=PATIENCE_MS,
    show_default=True,
    help="Time for the search with its reranking, loading the models included.",
)
@click.option(
    "--label", "labels", multiple=True, help="See only documents with this label; may be repeated. Default: all."
)
@json_option
def search(as_json: bool, labels: tuple[str, ...], **asked: Any) -> None:
    """Search a collection."""
    from web.forms import search_form, to_query
    from web.wire import results_as_json

    medley = open_medley()
    form = search_form(_form(asked))
    access = Access(getpass.getuser(), frozenset(labels or (EVERY_LABEL,)))
    query = to_query(form, medley.collections.get(form.collection), access)
    results = medley.search(query)
    _log(medley.settings.home, query, results)
    answer = results_as_json(results)
    show(answer, as_json, lambda: _text(answer))


def _form(asked: dict[str, Any]) -> dict[str, Any]:
    """The options as the fields of a `SearchForm`: one validation serves every door."""
    named = {"text", "collection", "entity", "aspect", "size", "cursor", "sort", "explain", "deadline_ms"}
    form = {name: value for name, value in asked.items() if name in named and value is not None}
    return form | {
        "with": list(asked["having"]),
        "without": list(asked["lacking"]),
        "rerank": not asked["no_rerank"],
        "filters": _filters(asked["filters"]),
    }


def _filters(written: tuple[str, ...]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for item in written:
        name, found, value = item.partition("=")
        if not found:
            raise click.BadParameter(f"{item!r} is no filter; one looks like year=2015..2020", param_hint="--filter")
        filters.setdefault(name, []).append(value)
    return filters


def _text(answer: dict[str, Any]) -> str:
    count = answer["total"]["value"]
    lines = [
        f"{count} document{'' if count == 1 else 's'} match{'es' if count == 1 else ''} · {answer['timings_ms']['total']:.0f} ms"
    ]
    lines += [f"! {item}" for item in answer["degraded"]]
    for rank, hit in enumerate(answer["hits"], 1):
        where = " · ".join(
            [hit["document"], *(str(value) for value in hit["fields"].values() if isinstance(value, str | int))]
        )
        lines += ["", f"{rank:2}. {click.style(hit['title'] or hit['document'], bold=True)}  {hit['score']:.3f}"]
        lines.append(f"    {click.style(where, dim=True)}")
        lines += [f"    {_marked(item)}" for item in hit["evidence"]]
        if hit["explain"]:
            lines.append(f"    {_why(hit['explain'])}")
    if answer["cursor"]:
        lines += ["", click.style("there is more: a larger --size, or --json with its cursor", dim=True)]
    return "\n".join(lines)


def _marked(item: dict[str, Any]) -> str:
    """The sentence on one line, its matched words underlined."""
    text, end, out = item["text"], 0, ""
    for start, stop in item["marks"]:
        out += text[end:start] + click.style(text[start:stop], underline=True)
        end = stop
    return " ".join((out + text[end:]).split())


def _why(explained: dict[str, Any]) -> str:
    legs = " + ".join(
        f"{leg['weight']:.2f}×{leg['normalised']:.3f} ({name}, rank {leg['rank']})"
        for name, leg in explained["legs"].items()
    )
    final = " + ".join(f"{value:.3f} {name}" for name, value in explained["final"].items())
    return f"fused {explained['fused']:.3f} = {legs}; score {explained['score']:.3f} = {final}; terms: {', '.join(explained['matched_terms'])}"


def _log(home: Path, query: Query, results: Results) -> None:
    """A search from the command line stands in the access log like one from the web."""
    from web.access.log import FILE, AccessLog

    entry = {
        "user": query.access.user,
        "door": "command line",
        "action": "search",
        "collection": query.collection,
        "query": query.words,
        "filters": [str(item) for item in query.filters],
        "documents": [hit.document for hit in results.hits],
    }
    AccessLog(home / FILE).write([entry])

"""`medley plugin`: Medley's models and ranking inside an OpenSearch that is already there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from search.settings import read as read_settings
from web.cli.common import counter, json_option, show, text_table

if TYPE_CHECKING:
    from search.engines.opensearch.client import Cluster
    from search.engines.opensearch.plugin.backfill import Backfill
    from search.engines.opensearch.plugin.installation import Change
    from search.engines.opensearch.plugin.resources import PluginPlan

Command = TypeVar("Command", bound=Callable[..., Any])

SERVER: Final = "http://127.0.0.1:8081"
TITLE, TEXT = "title", "text"
_EXAMPLE: Final = "Aspirin lowers the risk of a second heart attack"


@dataclass(frozen=True, slots=True)
class Place:
    """The cluster, kind and fields of a command. Options that are not given are those that are installed."""

    opensearch: str
    kind: str
    server: str
    pattern: str
    title: str
    text: str
    priority: int | None

    @property
    def fields(self) -> tuple[str, str]:
        """The fields with title and text, where no cluster is asked."""
        return self.title or TITLE, self.text or TEXT

    def cluster(self) -> Cluster:
        """The cluster, not yet contacted. Raises `InvalidInput`."""
        from search.engines.opened import open_cluster

        settings = read_settings()
        return open_cluster(replace(settings, opensearch=self.opensearch or settings.opensearch))

    def plan(self, cluster: Cluster | None = None) -> PluginPlan:
        """The configuration of the plug-in, by default as on the cluster. Raises `NotFound` for an unknown kind, `InvalidInput`."""
        from mappings.collection import load
        from search.engines.opened import secret
        from search.engines.opensearch.plugin.installed import installed_options
        from search.engines.opensearch.plugin.resources import PluginPlan

        settings = read_settings()
        kind = load(self.kind, self.kind, settings.collections)
        default = {"endpoint": settings.inference.split(",")[0].strip() or SERVER, "title": TITLE, "text": TEXT}
        given = {
            "endpoint": self.server,
            "pattern": self.pattern,
            "title": self.title,
            "text": self.text,
            "priority": self.priority,
        }
        options = {
            **default,
            **(installed_options(cluster, kind.kind) if cluster else {}),
            **{name: value for name, value in given.items() if value not in ("", None)},
        }
        return PluginPlan(kind, token=secret(settings.inference_token_file, "MEDLEY_INFERENCE_TOKEN_FILE"), **options)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep the value of an option for `_place`, so that no command needs a parameter for each."""
    context.ensure_object(dict)[parameter.name] = value


def _option(name: str, default: Any, text: str, kind: type = str) -> Callable[[Command], Command]:
    return click.option(
        name, default=default, show_default=bool(default), help=text, type=kind, expose_value=False, callback=_keep
    )


def placed(command: Command) -> Command:
    """Give a command the options of `Place`."""
    for option in (
        _option("--priority", None, "Priority of the index template; by default as installed, or 100.", int),
        _option("--text", "", f"The field with the text of a document; by default as installed, or {TEXT}."),
        _option("--title", "", f"The field with its title; by default as installed, or {TITLE}."),
        _option(
            "--pattern", "", "Names of the indexes that get the template; by default as installed, or medley-KIND-*."
        ),
        _option(
            "--server",
            "",
            "Address of the model server as the cluster reaches it; by default as installed, or that of MEDLEY_INFERENCE, "
            f"or {SERVER}. Its token is in MEDLEY_INFERENCE_TOKEN_FILE.",
        ),
        _option("--kind", "abstracts", "The collection kind whose search it is."),
        _option("--opensearch", "", "Address of the cluster; by default that of MEDLEY_OPENSEARCH."),
    ):
        command = option(command)
    return command


def _place() -> Place:
    return Place(**click.get_current_context().obj)


@click.group()
def plugin() -> None:
    """Search an OpenSearch of your own with Medley's models, by queries of its own clients."""


@plugin.command()
@placed
@click.option("--trust", is_flag=True, help="Also add the model server to the addresses that the cluster trusts.")
@json_option
def install(trust: bool, as_json: bool) -> None:
    """Create the models, pipelines and index template on the cluster, or repair them; print a query to try.

    Parts that are right already stay as they are, and nothing that this command did not create is changed.
    """
    _install(trust, as_json)


@plugin.command()
@placed
@json_option
def upgrade(as_json: bool) -> None:
    """Replace what an earlier version of Medley, or other options, created; searches continue meanwhile."""
    from mappings.errors import NotFound
    from search.engines.opensearch.plugin.installation import PluginInstallation

    cluster = (place := _place()).cluster()
    plan = place.plan(cluster)
    if all(part.state == "missing" for part in PluginInstallation(cluster, plan).status()):
        raise NotFound(f"nothing of {plan.name} is installed: run `medley plugin install`", field="kind")
    _install(False, as_json)


def _install(trust: bool, as_json: bool) -> None:
    from search.engines.opensearch.plugin.example import example_query
    from search.engines.opensearch.plugin.lifecycle import install as make

    cluster = (place := _place()).cluster()
    plan = place.plan(cluster)
    changes, settings = make(cluster, plan, trust)
    query = example_query(plan, _EXAMPLE)
    report = {"changes": [asdict(item) for item in changes], "settings": settings, "query": query}
    show(report, as_json, lambda: f"{_changes(changes, settings)}\n\n{_to_try(plan, query)}")


@plugin.command()
@placed
@json_option
def status(as_json: bool) -> None:
    """Show which parts are on the cluster; exit with 1 unless all are ready."""
    from search.engines.opensearch.plugin.installation import PluginInstallation
    from search.engines.opensearch.plugin.installed import model_servers

    cluster = (place := _place()).cluster()
    plan = place.plan(cluster)
    parts, used = PluginInstallation(cluster, plan).status(), model_servers(cluster, plan.name)
    rows = [[item.what, item.name, item.state] for item in parts]
    report = {"parts": [asdict(item) for item in parts], "servers": used}
    show(report, as_json, lambda: text_table(["what", "name", "state"], rows) + _other_server(used, plan))
    if any(item.state != "ready" for item in parts):
        raise click.exceptions.Exit(1)


@plugin.command()
@placed
@json_option
def remove(as_json: bool) -> None:
    """Delete everything that `install` created for the kind; indexes stay.

    The last kind that uses a model server also takes it from the addresses that the cluster trusts.
    """
    from search.engines.opensearch.plugin.lifecycle import remove as take_away

    cluster = (place := _place()).cluster()
    changes = take_away(cluster, place.plan(cluster))
    show({"changes": [asdict(item) for item in changes]}, as_json, lambda: _changes(changes, {}))


@plugin.command()
@placed
@click.argument("source")
@click.argument("target")
@json_option
def backfill(source: str, target: str, as_json: bool) -> None:
    """Copy the documents of the index SOURCE into TARGET, a new index or one that the template made.

    Repeating the command copies what TARGET lacks; documents that it has are neither read nor written again.
    """
    from search.engines.opensearch.plugin.backfill import backfill as copy

    cluster = (place := _place()).cluster()
    plan = place.plan(cluster)
    with counter("copying") as shown:
        work = copy(cluster, plan, source, target, lambda done: shown(done.settled, done.total))
    show(asdict(work), as_json, lambda: _copied(work, target))
    if work.failed:
        raise click.exceptions.Exit(1)


@plugin.command()
@placed
@click.argument("words", metavar="TEXT")
@click.option("--size", type=click.IntRange(1, 100), default=10, show_default=True, help="How many hits to ask for.")
@click.option("--filter", "required", default="", help="A query as JSON that all hits must match.")
def query(words: str, size: int, required: str) -> None:
    """Print the search for TEXT, as any client of OpenSearch can send it.

    No cluster is asked: give --title and --text if they were given to `install`.
    """
    from search.engines.opensearch.plugin.example import example_query

    click.echo(json.dumps(example_query(_place().plan(), words, size, _parse(required)), indent=2, ensure_ascii=False))


@plugin.command()
@placed
@click.argument("suite")
@click.option("--index", required=True, help="The index that holds the suite's documents.")
@click.option(
    "--form",
    type=click.Choice(["rank-eval", "search-relevance", "bulk"]),
    default="rank-eval",
    show_default=True,
    help="For `_rank_eval`, for Search Relevance Workbench, or the suite's documents for `_bulk`.",
)
def judgements(suite: str, index: str, form: str) -> None:
    """Print the judgements of a SUITE of `medley evaluate`, to measure the index by OpenSearch's own tools.

    No cluster is asked: give --title and --text if they were given to `install`.
    """
    from evaluation.relevance import bulk_lines, judgement_list, rank_eval
    from evaluation.suite import SuiteOptions
    from evaluation.suites.registry import find_suite
    from mappings.errors import InvalidInput

    place, options = _place(), SuiteOptions(variants=False)
    tasks = find_suite(suite, options).tasks(read_settings(), options)
    if not tasks:
        raise InvalidInput(f"{suite} asks no questions of one index: choose another suite", field="suite")
    task = tasks[0]
    if form == "bulk":
        for line in bulk_lines(task, index, *place.fields):
            click.echo(json.dumps(line, ensure_ascii=False))
        return
    body = rank_eval(task, index, list(place.fields)) if form == "rank-eval" else judgement_list(task)
    click.echo(json.dumps(body, indent=2, ensure_ascii=False))


def _parse(required: str) -> Mapping[str, Any] | None:
    from mappings.errors import InvalidInput

    try:
        found = json.loads(required) if required else None
    except ValueError as error:
        raise InvalidInput(f"--filter is not JSON: {error}", field="filter") from error
    if found is not None and not isinstance(found, dict):
        raise InvalidInput(
            '--filter is not a query: give a JSON object, such as {"term": {"year": 2020}}', field="filter"
        )
    return found


def _other_server(used: Sequence[str], plan: PluginPlan) -> str:
    """A line about models that use another model server than the plan's, since all are outdated then."""
    if not used or used == [plan.endpoint.rstrip("/")]:
        return ""
    return f"\n\nIts models use {', '.join(used)}; states are for --server {plan.endpoint}"


def _changes(changes: Sequence[Change], settings: Mapping[str, Any]) -> str:
    rows = [[item.action, item.what, item.name] for item in changes]
    rows += [["set", "cluster setting", f"{name} = {json.dumps(value)}"] for name, value in settings.items()]
    return text_table(["", "what", "name"], rows) if rows else "nothing to do"


def _to_try(plan: PluginPlan, query: Mapping[str, Any]) -> str:
    index = plan.indexes.replace("*", "1")
    return (
        f"Documents that are indexed into {plan.indexes} are now read; then ask\n\n"
        f"POST /{index}/_search\n{json.dumps(query, indent=2)}"
    )


def _copied(work: Backfill, target: str) -> str:
    lines = [f"{target}: {work.copied:,} copied, {work.present:,} were there, {work.failed:,} failed"]
    return "\n".join([*lines, *(f"  {name}: {reason}" for name, reason in work.reasons.items())])

"""`medley search`."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

import click

from web.cli.common import json_option, open_medley, open_use_cases, show
from web.cli.standard_input import DASH, read_text

if TYPE_CHECKING:
    from web.search_answers import EvidenceJson, ExplanationJson, HitJson, SearchAnswer, StanceJson
    from web.understanding_answers import CriterionJson, UnderstandingJson

PATIENCE_MS = 10_000
"""A process for a single search waits for the complete answer; a collection's deadline is meant for a running gateway."""


_ASSERTIONS: Final = {"present": "with", "not-present": "without", "ruled-out": "ruled out", "family": "in the family"}


@click.command()
@click.argument("text", default="", metavar="[TEXT|-]")
@click.option("--collection", "-c", required=True, help="The collection to search.")
@click.option("--entity", default="", help="A disease, drug or procedure.")
@click.option("--aspect", default="", help="What to find out about the entity, such as treatment.")
@click.option("--with", "having", multiple=True, help="What documents must say is present; can be repeated.")
@click.option("--without", "lacking", multiple=True, help="What they must not say is present; can be repeated.")
@click.option(
    "--absence",
    type=click.Choice(["not-present", "ruled-out"]),
    default="not-present",
    show_default=True,
    help="What --without means: not said to be present, or said to be absent.",
)
@click.option("--plain", is_flag=True, help="Search the text as words, whatever it says is absent.")
@click.option(
    "--as-typed", "as_typed", multiple=True, metavar="NAME", help="Search NAME by no other name; can be repeated."
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="FIELD=VALUE",
    help="year=2015..2020, type=Radiology; can be repeated.",
)
@click.option("--size", type=int, default=10, show_default=True, help="Hits on a page.")
@click.option("--cursor", default=None, help="The cursor of the previous page.")
@click.option(
    "--sort", default="relevance", show_default=True, help="relevance, or a field; with - before it, descending."
)
@click.option("--explain", is_flag=True, help="Explain the score of each hit.")
@click.option("--no-rerank", is_flag=True, help="Keep the order of the fused scores.")
@click.option(
    "--deadline-ms",
    type=int,
    default=PATIENCE_MS,
    show_default=True,
    help="Time for the search with reranking, including loading the models; 0: no limit.",
)
@click.option("--no-stances", is_flag=True, help="Do not read what each hit says of the text.")
@click.option(
    "--label", "labels", multiple=True, help="See only documents with this label; can be repeated. Default: all."
)
@json_option
def search(as_json: bool, labels: tuple[str, ...], **asked: Any) -> None:
    """Search a collection. With - instead of the text, it is read from the standard input."""
    from web.forms import search_form, to_query
    from web.kept.bundles import with_bundles
    from web.search_answers import SearchAnswer

    if asked["text"] == DASH:
        asked["text"] = read_text()
    medley = open_medley()
    use_cases = open_use_cases(medley, labels=labels)
    form = search_form(_form(asked))
    collection = use_cases.collections.get(form.collection)
    query = with_bundles(to_query(form, collection, use_cases.caller.access), use_cases)
    answer = SearchAnswer.of(use_cases.search(query), collection)
    hidden = {field.name for field in collection.fields.values() if not field.in_hits}
    show(answer.model_dump(), as_json, lambda: _text(answer, hidden))


def _form(asked: dict[str, Any]) -> dict[str, Any]:
    """The options as the fields of a `SearchForm`: one validation serves every door."""
    named = {"text", "collection", "entity", "aspect", "size", "cursor", "sort", "explain", "deadline_ms"}
    named |= {"absence", "plain"}
    form = {name: value for name, value in asked.items() if name in named and value is not None}
    return form | {
        "with": list(asked["having"]),
        "without": list(asked["lacking"]),
        "as_typed": list(asked["as_typed"]),
        "rerank": not asked["no_rerank"],
        "stances": not asked["no_stances"],
        "filters": _filters(asked["filters"]),
    }


def _filters(written: tuple[str, ...]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for item in written:
        name, found, value = item.partition("=")
        if not found:
            raise click.BadParameter(f"{item!r} is not a filter; one looks like year=2015..2020", param_hint="--filter")
        filters.setdefault(name, []).append(value)
    return filters


def _text(answer: SearchAnswer, hidden: AbstractSet[str] = frozenset()) -> str:
    count, total_ms = answer.total.value, answer.timings_ms["total"]
    lines = [f"{count} document{'' if count == 1 else 's'} match{'es' if count == 1 else ''} · {total_ms:.0f} ms"]
    lines += [f"! {item}" for item in answer.degraded]
    lines += answer.understood.notes
    lines += [f"no document mentions {', '.join(answer.answerable.missing)}"] if answer.answerable.missing else []
    lines += [_criterion(item) for item in answer.understood.criteria]
    lines += [f"first {_criterion(item)}" for item in answer.understood.preferences]
    lines += [
        f"{item.typed} can mean {', '.join(item.meanings)}"
        for item in answer.understood.asked
        if len(item.meanings) > 1
    ]
    lines += [f"{item.typed} is also searched as {', '.join(item.names)}" for item in answer.understood.names]
    lines += [click.style(f"{item}; --deadline-ms 0 waits for all", dim=True) for item in answer.partial]
    for rank, hit in enumerate(answer.hits, 1):
        lines += ["", *_hit_lines(rank, hit, hidden, answer.invented)]
        lines += _proof_lines(hit, answer.understood)
    if answer.cursor:
        lines += ["", click.style("there are more hits: use a larger --size, or --json and its cursor", dim=True)]
    return "\n".join(lines)


def _criterion(item: CriterionJson) -> str:
    return f"{_ASSERTIONS.get(item.assertion, item.assertion)}: {item.name}"


def _hit_lines(rank: int, hit: HitJson, hidden: AbstractSet[str], invented: bool) -> list[str]:
    values = (value for name, value in hit.fields.items() if name not in hidden)
    shown = (str(value) for value in values if isinstance(value, str | int))
    said = [_stance(hit.stance, hit.probability)] if hit.stance else []
    details = [*(["invented"] if invented else []), hit.document, *said, *hit.badges, *shown, *hit.meanings]
    details += [] if hit.lexical else ["found by meaning"]
    lines = [
        f"{rank:2}. {click.style(hit.title or hit.document, bold=True)}  {hit.score:.3f}",
        f"    {click.style(' · '.join(details), dim=True)}",
        *(f"    {_underlined(item)}" for item in hit.evidence),
    ]
    if hit.others:
        lines.append(click.style(f"    in the same group: {', '.join(hit.others)}", dim=True))
    return [*lines, f"    {_arithmetic(hit.explain)}"] if hit.explain else lines


def _stance(item: StanceJson, answers: float | None) -> str:
    from mappings.stances import is_sure

    words = {"neither": "says neither"}.get(item.label, item.label)
    return words if is_sure(item.label, item.probability, answers) else f"perhaps {words}"


def _proof_lines(hit: HitJson, understood: UnderstandingJson) -> Iterator[str]:
    required = understood.criteria
    criteria = required or understood.preferences
    for item, proof in zip(criteria, hit.proofs, strict=True):
        if proof is None and not required:
            continue
        said = " ".join(proof.text.split()) if proof else "not mentioned"
        yield f"    {_ASSERTIONS.get(item.assertion, item.assertion)} {item.name}: {said}"


def _underlined(item: EvidenceJson) -> str:
    """The sentence on one line, its matched words underlined."""
    end, out = 0, ""
    for start, stop in item.marks:
        out += item.text[end:start] + click.style(item.text[start:stop], underline=True)
        end = stop
    return " ".join((out + item.text[end:]).split())


def _arithmetic(explained: ExplanationJson) -> str:
    legs = " + ".join(
        f"{leg.weight:.2f}×{leg.normalised:.3f} ({name}, rank {leg.rank})" for name, leg in explained.legs.items()
    )
    final = " + ".join(f"{value:.3f} {name}" for name, value in explained.final.items())
    terms = ", ".join(explained.matched_terms)
    return f"fused {explained.fused:.3f} = {legs}; score {explained.score:.3f} = {final}; terms: {terms}"

"""`medley complete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from web.cli.common import json_option, open_medley, open_use_cases, show, text_table
from web.cli.standard_input import DASH, read_text

if TYPE_CHECKING:
    from web.completions import CompletionAnswer


@click.command()
@click.argument("text", metavar="TEXT|-")
@click.option("--collection", "-c", required=True, help="The collection that will be searched.")
@click.option("--slot", default="entity", show_default=True, help="entity, concept, aspect, or a field such as type.")
@click.option("--limit", type=int, default=10, show_default=True, help="Most completions.")
@click.option(
    "--label", "labels", multiple=True, help="Count only documents with this label; can be repeated. Default: all."
)
@json_option
def complete(text: str, collection: str, slot: str, limit: int, labels: tuple[str, ...], as_json: bool) -> None:
    """Complete the name of a concept, an aspect or a value. With - instead of the text, it is read from the standard input."""
    from web.completions import CompletionAnswer, CompletionForm
    from web.validation import validated

    typed = read_text() if text == DASH else text
    form = validated(CompletionForm, {"collection": collection, "text": typed, "slot": slot, "limit": limit})
    use_cases = open_use_cases(open_medley(), labels=labels)
    name = use_cases.collections.get(form.collection).name
    answer = CompletionAnswer.of(use_cases.complete(form.to_request(name, use_cases.caller.access)))
    show(answer.model_dump(), as_json, lambda: _text(answer))


def _text(answer: CompletionAnswer) -> str:
    rows = [
        [item.name, "" if item.matched == item.name else item.matched, item.group or "", f"{item.documents:,}"]
        for item in answer.completions
    ]
    table = text_table(["name", "matched", "group", "documents"], rows) if rows else "nothing completes this"
    return "\n".join([*answer.notes, table])

"""`medley judgements`: what users think of hits, for the operator, as data to measure, tune and train on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from web.cli.common import json_option, open_medley, open_use_cases, show

if TYPE_CHECKING:
    from web.judgements.exports import ExportCounts


@click.group()
def judgements() -> None:
    """Export what users think of hits."""


@judgements.command()
@click.argument("collection")
@click.argument("out", type=click.Path(path_type=Path))
@json_option
def export(collection: str, out: Path, as_json: bool) -> None:
    """Write all users' judgements of COLLECTION in the new folder OUT, without names of users.

    OUT is in BEIR's form: `medley evaluate beir OUT` and `medley tune abstracts --folder OUT --split test` read it. Its
    stance-judged.jsonl are training pairs.
    """
    from web.judgements.exports import export_judgements

    medley = open_medley(patient=True)
    with open_use_cases(medley).audited("kept export", collection) as done:
        counts = export_judgements(medley, collection, out)
        done |= {"judgements": counts.judgements, "users": counts.users}
    show(asdict(counts), as_json, lambda: _text(counts))


def _text(counts: ExportCounts) -> str:
    lines = [
        f"{_count(counts.judgements, 'judgement')} by {_count(counts.users, 'user')} on {_count(counts.queries, 'text')}",
        f"{_count(counts.graded, 'grade')}, over {_count(counts.documents, 'document')}",
        f"{_count(counts.pairs, 'pair')} of stances",
    ]
    if counts.tied:
        lines.append(f"left out: {_count(counts.tied, 'passage')} whose users disagree on the stance")
    if counts.changed:
        lines.append(f"left out: {_count(counts.changed, 'passage')} changed since the stance was told")
    if counts.gone:
        lines.append(f"left out: {_count(counts.gone, 'document')} no longer there")
    return "\n".join(lines)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

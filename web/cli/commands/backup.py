"""`medley backup` and `medley restore`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mappings.errors import InvalidInput
from search.bootstrap import Medley
from web.access import guard, log, tokens
from web.cli.common import chosen_queue, json_option, open_medley, open_use_cases, progress, queue_option, show
from web.cli.indexing import fill

if TYPE_CHECKING:
    from workers.backup.restore import CheckedBackup
    from workers.queueing.queue import Queue

_LOCK: Final = ".lock"
_SHOWN: Final = 20


@click.command()
@click.argument("destination", type=click.Path(path_type=Path))
@click.option("--collection", "-c", "names", multiple=True, help="A collection to save; by default all. Repeatable.")
@json_option
def backup(destination: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Save the documents of all collections, what users keep, the tokens and the access log in the new folder DESTINATION.

    Searches and ingestion go on meanwhile; whatever was accepted before the command started is saved. Indexes are not:
    `medley restore` builds them again.
    """
    from workers.backup.save import save

    medley = open_medley(patient=True)
    chosen = sorted(set(names)) or medley.collections.names()
    use_cases, asked = open_use_cases(medley), {"destination": str(destination), "collections": chosen}
    use_cases.audit("backup", "", asked)  # before anything is read: a backup that is killed has read documents, too
    with use_cases.audited("backup", "", asked, only_errors=True), progress("saving") as advance:
        manifest = save(medley, destination, chosen, _home_files(medley.settings.home), advance)
    collections = [
        {"collection": name, "documents": item.documents, "deleted": item.deleted}
        for name, item in manifest.collections.items()
    ]
    report = {
        "backup": str(destination),
        "id": manifest.id,
        "collections": collections,
        "kept": manifest.kept,
        "home": manifest.home_files,
    }
    lines = [*map(_saved_text, collections), _kept_text(manifest.kept), f"saved in {destination}"]
    show(report, as_json, lambda: "\n".join(lines))


def _home_files(home: Path) -> list[Path]:
    """The tokens and the access log with its rotated files; the keys of sessions and cursors are not saved.

    The head of the log comes before the log: lines may follow the record that it names, but none may be missing before it.
    """
    from workers.backup.manifest import is_plain_name

    head = home / f"{log.FILE}.head"
    logs = [path for path in sorted(home.glob(f"{log.FILE}*")) if path != head]
    found = [home / tokens.FILE, home / guard.MARKER, head, *logs]
    return [path for path in found if path.is_file() and path.suffix != _LOCK and is_plain_name(path.name)]


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--collection", "-c", "names", multiple=True, help="A collection to restore; by default all. Repeatable.")
@click.option("--as", "new_name", default=None, help="Restore the one chosen collection under this name.")
@click.option("--check", is_flag=True, help="Only check that the backup is complete and undamaged.")
@queue_option
@json_option
def restore(
    source: Path, names: tuple[str, ...], new_name: str | None, check: bool, queue: bool, as_json: bool
) -> None:
    """Restore the backup in the folder SOURCE, and index its documents.

    Every file is checked before anything is written. A collection that has documents is never replaced. Tokens, the access
    log and what users keep are restored with all collections, not with chosen ones. Repeating the command completes an
    interrupted one.
    """
    from workers.backup.restore import CheckedBackup

    opened = CheckedBackup.open(source)
    chosen = opened.chosen(names)
    if new_name is not None and len(names) != 1:
        raise InvalidInput("--as renames one collection: choose it with --collection", field="as")
    if check:
        _show_checked(opened, chosen, as_json)
        return
    targets = {name: new_name or name for name in chosen}
    _restore(opened, targets, not names, chosen_queue(queue), as_json)


def _show_checked(opened: CheckedBackup, chosen: Sequence[str], as_json: bool) -> None:
    manifest = opened.manifest
    saved = [
        {
            "collection": name,
            "documents": manifest.collections[name].documents,
            "deleted": manifest.collections[name].deleted,
        }
        for name in chosen
    ]
    report: dict[str, Any] = {"backup": str(opened.source), "id": manifest.id, "created": manifest.created}
    report |= {"collections": saved, "kept": manifest.kept}
    text = f"{opened.source} of {manifest.created} is complete and undamaged"
    show(report, as_json, lambda: "\n".join([*map(_saved_text, saved), _kept_text(manifest.kept), text]))


def _restore(
    opened: CheckedBackup, targets: Mapping[str, str], everything: bool, queue: Queue | None, as_json: bool
) -> None:
    from workers.backup.kept import restore_kept
    from workers.backup.restore import check_targets, restore_collection, restore_home

    medley = open_medley(patient=True)
    check_targets(medley, opened, targets)
    home = restore_home(opened, medley.settings.home) if everything else {}
    use_cases, manifest = open_use_cases(medley), opened.manifest
    asked = {"source": str(opened.source), "backup": manifest.id, "collections": dict(targets)}
    use_cases.audit("restore", "", asked)
    reports = []
    with use_cases.audited("restore", "", asked, only_errors=True):
        for name, target in targets.items():
            with progress(f"restoring {target}") as advance:
                restore_collection(medley, opened, name, target, advance)
            saved = manifest.collections[name]
            stored = {"collection": target, "documents": saved.documents, "deleted": saved.deleted}
            reports.append(stored | _index(medley, target, queue))
        kept = restore_kept(medley, opened) if everything else 0
    report = {"backup": manifest.id, "collections": reports, "kept": kept, "home": home}
    lines = [*map(_restored_text, reports), f"{_kept_text(kept)} restored", *_home_text(home)]
    show(report, as_json, lambda: "\n".join(lines))
    if any(item["failed"] for item in reports):
        raise click.exceptions.Exit(1)


def _index(medley: Medley, collection: str, queue: Queue | None) -> dict[str, Any]:
    """Index a restored collection here, or leave it to the workers; how many documents, in how many seconds."""
    if queue is not None:
        from workers.queueing.worker import IndexWorker

        IndexWorker(medley, queue).sweep([collection])
        return {"queued": True, "indexed": 0, "failed": 0, "failures": [], "seconds": 0.0}
    started, failures, indexed = time.monotonic(), [], 0
    with progress(f"indexing {collection}") as advance:
        for outcome in fill(medley, collection):
            advance(1)
            indexed += not outcome.cause
            failures += [{"id": outcome.id, "cause": outcome.cause}] if outcome.cause else []
    seconds = round(time.monotonic() - started, 1)
    return {
        "queued": False,
        "indexed": indexed,
        "failed": len(failures),
        "failures": failures[:_SHOWN],
        "seconds": seconds,
    }


def _saved_text(item: Mapping[str, Any]) -> str:
    return f"{item['collection']}: {item['documents']} documents, {item['deleted']} deleted"


def _kept_text(count: int) -> str:
    return f"{count} kept item{'' if count == 1 else 's'} of users"


def _restored_text(item: Mapping[str, Any]) -> str:
    stored = f"{item['collection']}: {item['documents']} documents restored"
    if item["queued"]:
        return f"{stored}; the workers index them: see `medley status`"
    failed = "".join(f"\n  {failure['id']}: {failure['cause']}" for failure in item["failures"])
    return f"{stored}; changes indexed in {item['seconds']:.0f} s: {item['indexed']}, failed: {item['failed']}{failed}"


def _home_text(home: Mapping[str, str]) -> list[str]:
    return [
        f"{name} restored" if name == now else f"{name} exists, so that of the backup is in {now}"
        for name, now in home.items()
    ]

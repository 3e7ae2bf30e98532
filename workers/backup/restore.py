"""Restores collections from a backup into an installation that does not have them, on either engine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from mappings import collection as kinds
from mappings.errors import Conflict, InvalidInput, NotFound
from search.bootstrap import Medley
from search.collections import check_name
from search.engines.embedded.layout import unavailable
from search.storage import DocumentStore, ExportedVersion, Job
from workers.backup.files import begins_with, copy_whole, read_lines
from workers.backup.manifest import BackupManifest, documents_file, home_file, jobs_file, read_manifest, verify
from workers.copying import CopiedDocuments


@dataclass(frozen=True, slots=True)
class CheckedBackup:
    """A backup in `source` of which every file is as it was written; `open` checks that."""

    source: Path
    manifest: BackupManifest

    @classmethod
    def open(cls, source: Path) -> CheckedBackup:
        """Check the whole backup. Raises `NotFound`, `Conflict`, `InvalidInput`, `Unavailable`."""
        manifest = read_manifest(source)
        verify(source, manifest)
        return cls(source, manifest)

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Those of the saved collections that `names` lists, or all of them. Raises `NotFound`."""
        wanted, known = sorted(set(names)), sorted(self.manifest.collections)
        if unknown := [name for name in wanted if name not in known]:
            listed = ", ".join(known) or "none"
            raise NotFound(f"the backup has no collection {unknown[0][:80]!r}; it has: {listed}", field="collection")
        return wanted or known


def check_targets(medley: Medley, backup: CheckedBackup, targets: Mapping[str, str]) -> None:
    """Raise unless each saved collection can be restored under its name in `targets` (saved name -> new name).

    `Conflict` if a collection of that name has documents, unless they come from an earlier restore of this backup;
    `NotFound` if its kind is unknown, `InvalidInput` for an invalid name.
    """
    for name, target in targets.items():
        entry = backup.manifest.collections[name]
        kinds.load(check_name(target), entry.kind, medley.settings.collections)
        present = medley.engines.catalog.read(target)
        if present is None:
            continue
        if present.kind != entry.kind:
            raise Conflict(f"the collection {target!r} exists, of kind {present.kind!r}", field="collection")
        store = medley.collections.store(target)
        counts = store.counts("")
        if counts.documents + counts.deleted and store.job(_job_name(backup, target)) is None:
            raise Conflict(
                f"the collection {target!r} exists and has documents: restore never replaces any; restore under another "
                "name with --as, or into an empty installation",
                field="collection",
            )


def restore_collection(
    medley: Medley, backup: CheckedBackup, name: str, target: str, on_progress: CopiedDocuments
) -> None:
    """Write a saved collection as `target`: catalog entry, documents with their version numbers, and jobs.

    Its documents are pending afterwards. A kill leaves it unfinished; repeating the call completes it, and does nothing
    once it is complete.
    """
    entry = backup.manifest.collections[name]
    medley.collections.create(target, entry.kind, entry.invented)
    store = medley.collections.store(target)
    job = store.job(_job_name(backup, target)) or Job(_job_name(backup, target), time.time())
    if job.finished:
        return
    store.keep_job(job)
    if entry.tuned:
        medley.collections.tune(target, entry.tuned)
    store.restore(_versions(backup.source / documents_file(name), on_progress))
    if target == name:  # a job's id contains the name of its collection
        _restore_jobs(store, backup.source / jobs_file(name))
    store.keep_job(replace(job, finished=time.time(), accepted=entry.documents, deleted=entry.deleted))


def restore_home(backup: CheckedBackup, home: Path) -> dict[str, str]:
    """Put the saved files of a home folder back: name -> the name that it has now.

    A file that exists is left as it is, and the saved one is put beside it as `<name>.restored-<id of the backup>`.
    """
    restored = {}
    for name in backup.manifest.home_files:
        saved, target = backup.source / home_file(name), home / name
        try:
            if target.exists() and not begins_with(target, saved):
                target = home / f"{name}.restored-{backup.manifest.id}"
            if not target.exists():
                copy_whole(saved, target)
        except OSError as error:
            raise unavailable(f"{target} could not be written", error) from error
        restored[name] = target.name
    return restored


def _job_name(backup: CheckedBackup, target: str) -> str:
    return f"{target}.restore-{backup.manifest.id}"


def _versions(path: Path, on_progress: CopiedDocuments) -> Iterator[ExportedVersion]:
    for line in read_lines(path):
        yield _version(path, line)
        on_progress(1)


def _version(path: Path, line: Mapping[str, Any]) -> ExportedVersion:
    try:
        document = line["document"]
        content = None if document is None else orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        return ExportedVersion(
            line["id"], line["version"], content, line["accepted"], line["source_version"], line["job"]
        )
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{path} has a line that is not a saved document: {error!r}", field=path.name) from error


def _restore_jobs(store: DocumentStore, path: Path) -> None:
    for line in read_lines(path):
        try:
            store.keep_job(Job(**line))
        except TypeError as error:
            raise InvalidInput(f"{path} has a line that is not a saved job: {error}", field=path.name) from error

"""Saves collections as a backup: one portable form for both engines, consistent while documents are accepted."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from mappings.errors import NotFound
from search.bootstrap import Medley
from search.storage import DocumentStore, ExportedVersion
from workers.backup.files import checksum, copy_file, folder_aside, make_folder, write_lines
from workers.backup.kept import save_kept
from workers.backup.manifest import BackupManifest, SavedCollection, documents_file, jobs_file
from workers.copying import CopiedDocuments, CountedVersions


def save(
    medley: Medley, target: Path, names: Sequence[str], home_files: Iterable[Path], on_progress: CopiedDocuments
) -> BackupManifest:
    """Save the collections `names`, what users keep, and the files `home_files` of the home, in the new folder `target`.

    Whatever was accepted before is in it. Raises `Conflict` if `target` exists, `NotFound` for an unknown collection,
    `Unavailable` if it can't be written, and for a document that is damaged in the store.
    """
    stores = {name: medley.collections.store(name) for name in names}
    with folder_aside(target) as folder:
        saved = {name: _save_collection(medley, folder, name, stores[name], on_progress) for name in names}
        kept = save_kept(medley, folder, names)
        for file in home_files:
            copy_file(file, make_folder(folder / "home") / file.name)
        manifest = BackupManifest(
            id=secrets.token_hex(8),
            program=version("medley"),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            engine="opensearch" if medley.settings.opensearch else "embedded",
            collections=saved,
            files=_checksums(folder),
            kept=kept,
        )
        manifest.save(folder)
    return manifest


def _save_collection(
    medley: Medley, folder: Path, name: str, store: DocumentStore, on_progress: CopiedDocuments
) -> SavedCollection:
    entry = medley.engines.catalog.read(name)
    if entry is None:
        raise NotFound(f"there is no collection {name!r} any more", field="collection")
    documents = CountedVersions(store.export(), on_progress)
    make_folder((folder / documents_file(name)).parent)
    write_lines(folder / documents_file(name), (_line(item) for item in documents))
    jobs = [asdict(job) for identifier in sorted(documents.jobs) if (job := store.job(identifier)) is not None]
    write_lines(folder / jobs_file(name), jobs)
    existing = documents.total - documents.deleted
    return SavedCollection(entry.kind, entry.tuned, existing, documents.deleted, len(jobs), entry.invented)


def _line(item: ExportedVersion) -> dict[str, Any]:
    document = None if item.content is None else orjson.Fragment(item.content)
    return {
        "id": item.id,
        "version": item.version,
        "accepted": item.accepted,
        "source_version": item.source_version,
        "job": item.job,
        "document": document,
    }


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): checksum(path) for path in files}

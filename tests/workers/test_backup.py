"""Backups between installations of both engines: what is restored, and what is refused before anything is written."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from mappings.documents import Deletion, Document, Section
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound, Unavailable
from search.bootstrap import Medley
from search.settings import Settings
from web.cli.indexing import fill_quietly
from workers.backup import save as saving
from workers.backup.manifest import _digest, documents_file, read_manifest
from workers.backup.restore import CheckedBackup, check_targets, restore_collection, restore_home
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect

ENGINES = ["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)]
WEIGHTS = "[fusion]\nweights = { bm25 = 0.25, dense = 0.75 }\n"


@pytest.fixture
def install(request, tmp_path):
    """Opens a new installation on an engine; those on the cluster are removed afterwards."""
    made = []

    def opened(engine: str, name: str = "home") -> Medley:
        settings = Settings(home=tmp_path / name, encoder="hashing-256", reranker="none")
        if engine == "opensearch":
            node, prefix = request.getfixturevalue("node"), f"t{secrets.token_hex(5)}"
            settings = replace(settings, opensearch=node.url, opensearch_prefix=prefix)
        medley = Medley.open(settings, patient=True)
        made.append(medley)
        return medley

    yield opened
    for medley in made:
        if medley.settings.opensearch:
            cluster = medley.engine.cluster
            cluster.write("DELETE", f"/{cluster.prefix}.*")
            cluster.close()


@pytest.fixture
def filled(install) -> Medley:
    """An embedded installation with documents, a tombstone and a job."""
    return fill(install("embedded"))


def fill(medley: Medley) -> Medley:
    medley.collections.create("notes")
    delivery = Delivery(medley.collections.store("notes"), "notes")
    delivery.accept([note("a"), note("b"), note("c", source=3)])
    delivery.accept([note("a", "kidney stones"), Deletion("b")])
    delivery.finish()
    return medley


def note(name: str, text: str = "heart failure", source: int | None = None) -> Document:
    return Document(name, "Note", (Section("PLAN", text),), frozenset({"clinical"}), {"year": 2001.0}, source)


def save(medley: Medley, target: Path, names=None, home_files=()):
    names = medley.collections.names() if names is None else names
    return saving.save(medley, target, names, home_files, lambda count: None)


def restore(medley: Medley, source: Path, **targets: str) -> CheckedBackup:
    backup = CheckedBackup.open(source)
    targets = targets or {name: name for name in backup.chosen([])}
    check_targets(medley, backup, targets)
    for name, target in targets.items():
        restore_collection(medley, backup, name, target, lambda count: None)
    return backup


def versions(medley: Medley, name: str = "notes"):
    return {item.id: item for item in medley.collections.store(name).export()}


@pytest.mark.parametrize("there", ENGINES)
@pytest.mark.parametrize("here", ENGINES)
def test_a_backup_of_either_engine_is_restored_on_either(install, tmp_path, here, there):
    source, target = fill(install(here)), install(there, "other")
    source.collections.tune("notes", WEIGHTS)
    fill_quietly(source, "notes")
    manifest = save(source, tmp_path / "saved")
    assert (manifest.engine, manifest.collections["notes"].documents) == (here, 2)
    restore(target, tmp_path / "saved")
    assert versions(target) == versions(source)
    assert target.engines.catalog.read("notes") == source.engines.catalog.read("notes")
    fill_quietly(target, "notes")
    assert inspect(Indexer.of(target, "notes")) == []
    assert target.engine.resolve("notes").documents == 2
    (job,) = {item.job for item in versions(source).values()}
    assert target.collections.store("notes").job(job) == source.collections.store("notes").job(job)


def test_a_backup_is_private(filled, tmp_path):
    save(filled, tmp_path / "saved")
    for path in [tmp_path / "saved", *(tmp_path / "saved").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_an_empty_installation_is_backed_up_and_restored(install, tmp_path):
    assert save(install("embedded"), tmp_path / "saved").collections == {}
    target = install("embedded", "other")
    restore(target, tmp_path / "saved")
    assert target.collections.names() == []


def test_an_empty_collection_is_restored(install, tmp_path):
    source, target = install("embedded"), install("embedded", "other")
    source.collections.create("trials", "abstracts")
    save(source, tmp_path / "saved")
    restore(target, tmp_path / "saved")
    assert (target.collections.get("trials").kind, versions(target, "trials")) == ("abstracts", {})


def test_a_collection_is_restored_under_another_name_beside_its_own(filled, tmp_path):
    save(filled, tmp_path / "saved")
    restore(filled, tmp_path / "saved", notes="notes-of-may")
    assert versions(filled, "notes-of-may") == versions(filled)
    assert filled.collections.get("notes-of-may").kind == "notes"


@pytest.mark.parametrize("target", ["a file", "a folder", "a link that leads nowhere"])
def test_a_backup_never_replaces_what_exists(filled, tmp_path, target):
    path = tmp_path / target
    {"a file": path.touch, "a folder": path.mkdir}.get(target, lambda: path.symlink_to("nowhere"))()
    with pytest.raises(Conflict, match="exists already"):
        save(filled, path)


def test_a_backup_needs_a_folder_to_lie_in(filled, tmp_path):
    with pytest.raises(NotFound, match="does not exist"):
        save(filled, tmp_path / "absent" / "saved")


def test_a_target_that_cant_be_written_is_named(filled):
    with pytest.raises(Unavailable, match="/proc/saved could not be written"):
        save(filled, Path("/proc/saved"))


def test_a_backup_that_fails_leaves_nothing(filled, tmp_path):
    file = tmp_path / "home/collections/notes/store.sqlite"
    database = sqlite3.connect(file)
    database.execute("UPDATE versions SET raw = x'00' WHERE id = 'c'")
    database.commit()
    database.close()
    (tmp_path / "out").mkdir()
    with pytest.raises(Unavailable, match="the stored document 'c' is damaged"):
        save(filled, tmp_path / "out" / "saved")
    assert list((tmp_path / "out").iterdir()) == []


def test_an_unknown_collection_is_not_found(filled, tmp_path):
    with pytest.raises(NotFound, match="no collection 'absent'"):
        save(filled, tmp_path / "saved", ["absent"])
    save(filled, tmp_path / "saved")
    with pytest.raises(NotFound, match="no collection 'absent'; it has: notes"):
        CheckedBackup.open(tmp_path / "saved").chosen(["absent"])


# A backup that is not as it was written


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("file", "hurt", "error", "message"),
    [
        (documents_file("notes"), flip, InvalidInput, "SHA-256"),
        (documents_file("notes"), Path.unlink, InvalidInput, "is missing"),
        ("collections/notes/jobs.jsonl.gz", flip, InvalidInput, "SHA-256"),
        ("manifest.json", Path.unlink, NotFound, "not a finished backup"),
        ("manifest.json", flip, InvalidInput, "damaged"),
        ("manifest.json", lambda path: path.write_text("{}"), InvalidInput, "damaged"),
        ("manifest.json", lambda path: path.write_text("[]"), InvalidInput, "damaged"),
        ("manifest.json", lambda path: path.write_text('{"format": 3, "sha256": ""}'), Conflict, "format 3"),
    ],
)
def test_a_backup_that_is_not_as_it_was_written_is_refused(filled, install, tmp_path, file, hurt, error, message):
    save(filled, tmp_path / "saved")
    hurt(tmp_path / "saved" / file)
    target = install("embedded", "other")
    with pytest.raises(error, match=message):
        restore(target, tmp_path / "saved")
    assert target.collections.names() == []


def rewrite(source: Path, **changes) -> None:
    """Change a manifest as somebody would who can make a checksum."""
    content = orjson.loads((source / "manifest.json").read_bytes()) | changes
    content.pop("sha256")
    (source / "manifest.json").write_bytes(orjson.dumps({**content, "sha256": _digest(content)}))


@pytest.mark.parametrize("name", ["../outside", "home/../../outside", "home/.hidden", "/etc/passwd", "home/a/b"])
def test_a_manifest_cannot_name_files_elsewhere(filled, tmp_path, name):
    files = save(filled, tmp_path / "saved").files
    rewrite(tmp_path / "saved", files={**files, name: "0" * 64})
    with pytest.raises(InvalidInput, match="not a file of a backup"):
        CheckedBackup.open(tmp_path / "saved")


def test_a_file_that_is_a_link_is_refused(filled, tmp_path):
    save(filled, tmp_path / "saved")
    path = tmp_path / "saved" / documents_file("notes")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is missing"):
        CheckedBackup.open(tmp_path / "saved")


@pytest.mark.parametrize("source", ["absent", "a file"])
def test_what_is_no_backup_is_not_found(tmp_path, source):
    (tmp_path / "a file").touch()
    with pytest.raises(NotFound, match="not a finished backup"):
        CheckedBackup.open(tmp_path / source)


def test_a_line_that_is_no_document_is_named(filled, install, tmp_path):
    save(filled, tmp_path / "saved")
    path = tmp_path / "saved" / documents_file("notes")
    path.write_bytes(gzip.compress(b'{"id": "a"}\n'))
    backup = CheckedBackup(tmp_path / "saved", read_manifest(tmp_path / "saved"))
    with pytest.raises(InvalidInput, match="not a saved document"):
        restore_collection(install("embedded", "other"), backup, "notes", "notes", lambda count: None)


# What is there already


def test_a_collection_with_documents_is_never_replaced(filled, tmp_path):
    save(filled, tmp_path / "saved")
    with pytest.raises(Conflict, match="'notes' exists and has documents"):
        restore(filled, tmp_path / "saved")


def test_a_collection_of_another_kind_is_refused(filled, install, tmp_path):
    save(filled, tmp_path / "saved")
    target = install("embedded", "other")
    target.collections.create("notes", "abstracts")
    with pytest.raises(Conflict, match="of kind 'abstracts'"):
        restore(target, tmp_path / "saved")


def test_an_unknown_kind_is_refused_before_anything_is_written(filled, install, tmp_path):
    save(filled, tmp_path / "saved")
    entry = {"kind": "letters", "tuned": "", "documents": 2, "deleted": 1, "jobs": 1}
    rewrite(tmp_path / "saved", collections={"notes": entry})
    target = install("embedded", "other")
    with pytest.raises(MedleyError, match="no collection kind 'letters'"):
        restore(target, tmp_path / "saved")
    assert target.collections.names() == []


def test_an_interrupted_restore_is_completed_by_repeating_it(filled, install, tmp_path):
    save(filled, tmp_path / "saved")
    target = install("embedded", "other")

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    backup = CheckedBackup.open(tmp_path / "saved")
    with pytest.raises(KeyboardInterrupt):
        restore_collection(target, backup, "notes", "notes", interrupt)
    restore(target, tmp_path / "saved")
    assert versions(target) == versions(filled)


def test_a_complete_restore_that_is_repeated_changes_nothing(filled, install, tmp_path):
    save(filled, tmp_path / "saved")
    target = install("embedded", "other")
    restore(target, tmp_path / "saved")
    target.collections.store("notes").put([note("a", "changed since")])
    after = versions(target)
    restore(target, tmp_path / "saved")
    assert versions(target) == after


# The home folder


def test_a_file_of_the_home_folder_is_put_back_or_beside_the_one_that_exists(filled, install, tmp_path):
    home = filled.settings.home
    (home / "tokens.json").write_text(json.dumps({"tokens": []}))
    (home / "access.log").write_text("first\n")
    manifest = save(filled, tmp_path / "saved", home_files=[home / "tokens.json", home / "access.log"])
    target = install("embedded", "other").settings.home
    (target / "tokens.json").write_text("others")
    backup = CheckedBackup.open(tmp_path / "saved")
    beside = f"tokens.json.restored-{manifest.id}"
    assert restore_home(backup, target) == {"access.log": "access.log", "tokens.json": beside}
    assert (target / "tokens.json").read_text() == "others"
    assert (target / beside).read_text() == '{"tokens": []}'
    with (target / "access.log").open("a") as log:
        log.write("second\n")
    assert restore_home(backup, target)["access.log"] == "access.log"
    assert stat.S_IMODE(os.stat(target / "access.log").st_mode) == 0o600


def test_a_file_of_the_home_folder_appears_complete_or_not_at_all(filled, install, tmp_path, monkeypatch):
    home, target = filled.settings.home, install("embedded", "other").settings.home
    (home / "tokens.json").write_text(json.dumps({"tokens": []}))
    save(filled, tmp_path / "saved", home_files=[home / "tokens.json"])
    backup = CheckedBackup.open(tmp_path / "saved")
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(Unavailable, match="the disk is full"):
            restore_home(backup, target)
    assert not (target / "tokens.json").exists()
    assert restore_home(backup, target) == {"tokens.json": "tokens.json"}

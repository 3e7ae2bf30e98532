"""What users keep goes with the collection that it belongs to, moves with it, and is in backups, on either engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from wards import filled

from mappings.documents import Access
from mappings.errors import InvalidInput, NotFound
from search.bootstrap import Medley
from search.kept.items import KeptDraft, KeptFilter, KeptItem
from search.settings import Settings
from workers.backup import save as saving
from workers.backup.files import read_lines, write_lines
from workers.backup.kept import restore_kept
from workers.backup.manifest import KEPT_FILE, _digest, read_manifest
from workers.backup.restore import CheckedBackup
from workers.collections import removal, renaming
from workers.collections.removal import remove_collection
from workers.collections.renaming import rename_collection

ANN = Access("ann", frozenset({"clinical"}))
BOB = Access("bob", frozenset({"clinical"}))


class Killed(BaseException):
    """A kill, as far as one process can stand it."""


def draft(name: str, collection: str = "") -> KeptDraft:
    return KeptDraft("cohort", name, {"query": "heart"}, collection, frozenset({"clinical"}))


def kept(medley: Medley) -> dict[str, str]:
    return {item.name: item.collection for item in medley.kept.list_items(ANN, KeptFilter(), 50).items}


def rename(medley: Medley) -> None:
    rename_collection(medley, "wrad", "ward", lambda count: None, 5.0)


def test_what_belongs_to_a_deleted_collection_is_deleted_with_it(opened):
    gateway, command = filled(opened()), opened()
    gateway.kept.add(ANN, draft("of the ward", "ward"))
    gateway.kept.add(BOB, draft("of the ward, too", "ward"))
    filled(gateway, "other")
    gateway.kept.add(ANN, draft("of the other", "other"))
    gateway.kept.add(ANN, draft("of none"))
    remove_collection(command, "ward")
    assert kept(gateway) == {"of the other": "other", "of none": ""}
    with pytest.raises(NotFound, match="there is no collection 'ward'"):
        gateway.kept.add(ANN, draft("late", "ward"))


def test_what_belongs_to_a_renamed_collection_moves_with_it(opened):
    gateway, command = filled(opened(), "wrad"), opened()
    made = gateway.kept.add(ANN, draft("of the ward", "wrad"))
    rename(command)
    assert gateway.kept.get(ANN, made.id) == replace(made, collection="ward", revision=2)
    with pytest.raises(NotFound):
        gateway.kept.add(ANN, draft("late", "wrad"))
    assert gateway.kept.add(ANN, draft("later", "ward")).collection == "ward"


@pytest.mark.parametrize("finish", [rename, lambda medley: remove_collection(medley, "wrad")], ids=["rename", "delete"])
@pytest.mark.parametrize("step", ["take_away", "_find_heir", "clear_vector_cache"])
def test_nothing_is_lost_by_a_rename_that_was_killed(opened, monkeypatch, step, finish):
    filled(opened(), "wrad").kept.add(ANN, draft("of the ward", "wrad"))

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(renaming if hasattr(renaming, step) else removal, step, killed)
    with pytest.raises(Killed):
        rename(opened())
    monkeypatch.undo()
    half = opened()
    if half.engines.catalog.read("wrad") is not None:  # else only the last step of the rename is missing
        finish(half)
    rename(half) if half.engines.catalog.read("ward").origin else None
    assert kept(half) == {"of the ward": "ward"}
    remove_collection(half, "ward")
    assert kept(half) == {}


def test_a_rename_that_is_given_up_keeps_everything(opened, monkeypatch):
    medley = filled(opened(), "wrad")
    medley.kept.add(ANN, draft("of the ward", "wrad"))
    monkeypatch.setattr(renaming, "_index", lambda *_: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        rename(opened())
    monkeypatch.undo()
    remove_collection(opened(), "ward")
    assert kept(medley) == {"of the ward": "wrad"}


def save(medley: Medley, target: Path, names: list[str]) -> CheckedBackup:
    saving.save(medley, target, names, (), lambda count: None)
    return CheckedBackup.open(target)


def exported(medley: Medley) -> list[KeptItem]:
    return sorted(medley.kept.export(), key=lambda item: item.id)


def fresh(tmp_path: Path) -> Medley:
    return Medley.open(Settings(home=tmp_path / "fresh", encoder="hashing-256", reranker="none"))


def test_a_backup_has_what_users_keep(opened, tmp_path):
    medley = filled(opened())
    filled(medley, "other")
    first = medley.kept.add(ANN, draft("of the ward", "ward"))
    medley.kept.replace(ANN, first.id, 1, draft("of my ward", "ward"))
    medley.kept.add(BOB, draft("of none"))
    of_other = medley.kept.add(ANN, draft("of the other", "other"))
    backup = save(medley, tmp_path / "all", ["ward", "other"])
    assert backup.manifest.kept == 3
    target = fresh(tmp_path)
    assert (restore_kept(target, backup), restore_kept(target, backup)) == (3, 0)
    assert exported(target) == exported(medley)
    some = save(medley, tmp_path / "some", ["ward"])
    assert some.manifest.kept == 2
    assert of_other.id not in {line["id"] for line in read_lines(tmp_path / "some" / KEPT_FILE)}


def test_an_installation_where_nothing_is_kept_is_saved_without_making_anything(opened, tmp_path):
    medley = filled(opened())
    backup = save(medley, tmp_path / "saved", ["ward"])
    assert (backup.manifest.kept, list(read_lines(tmp_path / "saved" / KEPT_FILE))) == (0, [])
    assert not (medley.settings.home / "kept.sqlite").exists()
    if medley.settings.opensearch:
        cluster = medley.engine.cluster
        assert cluster.read("HEAD", f"/{cluster.prefix}.kept") is False


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "note"},
        {"name": ""},
        {"content": []},
        {"content": None},
        {"shared_with": ["*"]},
        {"shared_with": 7},
        {"owner": None},
        {"id": "../x"},
        {"id": 7},
        {"revision": 0},
        {"revision": "1"},
        {"changed": None},
        {"further": 1},
    ],
)
def test_a_damaged_line_of_a_backup_restores_nothing(tmp_path, changes):
    medley = filled(Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")))
    medley.kept.add(ANN, draft("a"))
    save(medley, tmp_path / "saved", ["ward"])
    file = tmp_path / "saved" / KEPT_FILE
    (line,) = read_lines(file)
    file.unlink()
    write_lines(file, [line | {"id": "0" * 16, "name": "b"}, line | changes])
    manifest = read_manifest(tmp_path / "saved")
    target = fresh(tmp_path)
    with pytest.raises(InvalidInput, match="a line that is not a kept item"):
        restore_kept(target, CheckedBackup(tmp_path / "saved", manifest))
    assert exported(target) == []


def test_a_backup_of_the_version_before_has_nothing_that_users_keep(tmp_path):
    medley = filled(Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")))
    save(medley, tmp_path / "saved", ["ward"])
    (tmp_path / "saved" / KEPT_FILE).unlink()
    path = tmp_path / "saved/manifest.json"
    content = orjson.loads(path.read_bytes())
    content = {name: content[name] for name in content if name not in ("kept", "sha256")} | {"format": 1}
    del content["files"][KEPT_FILE]
    path.write_text(json.dumps(content | {"sha256": _digest(content)}))
    backup = CheckedBackup.open(tmp_path / "saved")
    assert (backup.manifest.kept, restore_kept(fresh(tmp_path), backup)) == (0, 0)
    content["format"] = 2
    path.write_text(json.dumps(content | {"sha256": _digest(content)}))
    with pytest.raises(InvalidInput, match="it does not list kept/items"):
        CheckedBackup.open(tmp_path / "saved")

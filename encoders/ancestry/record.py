"""A model's ancestry: every training run from its base on, and the texts that they saw, by hash.

It is two files beside the model, in a model directory or a checkpoint: `ancestry.json`, which people can read, and
`ancestry.bin`, the hashes. A model's ancestry contains that of its base, its teacher and its prior, so a chain is complete
however many runs it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from encoders.ancestry.seen import SeenTexts
from encoders.artifact import ANCESTRY, ANCESTRY_TEXTS
from mappings.errors import ModelError

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class KnownOverlap:
    """Something of a suite that was seen, found later by a person: `what` says it in a sentence."""

    suite: str
    what: str


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Where a model comes from.

    `roots` are the checkpoints, trained elsewhere, that it begins with; `runs` are its training runs in JSON, oldest first,
    each with its parents' fingerprints and the hashes of its files of pairs. `texts` are all texts that any run saw; None
    if they were not recorded. `unknown` says what is missing; empty if nothing is.
    """

    roots: tuple[str, ...] = ()
    runs: tuple[Mapping[str, Any], ...] = ()
    texts: SeenTexts | None = None
    unknown: tuple[str, ...] = ()
    overlaps: tuple[KnownOverlap, ...] = ()

    @classmethod
    def of_root(cls, name: str) -> Ancestry:
        """The ancestry of a checkpoint that was trained elsewhere: the end of the chain."""
        return cls(roots=(name,), texts=SeenTexts())

    @classmethod
    def missing(cls, path: Path) -> Ancestry:
        """The ancestry of a model without a record."""
        return cls(unknown=(f"{path.name} has no {ANCESTRY}",))

    @property
    def is_known(self) -> bool:
        """Whether all that the model and its ancestors saw in Medley's training is recorded."""
        return self.texts is not None and not self.unknown

    def with_run(self, run: Mapping[str, Any], seen: SeenTexts, others: Sequence[Ancestry] = ()) -> Ancestry:
        """The ancestry after a run that starts from this model, learns from the `others`, and sees `seen`."""
        parents = (self, *others)
        runs = [item for parent in parents for item in parent.runs]
        return Ancestry(
            roots=_once([name for parent in parents for name in parent.roots]),
            runs=(*(item for place, item in enumerate(runs) if item not in runs[:place]), run),
            texts=seen.union(*(parent.texts for parent in parents if parent.texts is not None)),
            unknown=_once([reason for parent in parents for reason in parent.unknown]),
            overlaps=tuple(dict.fromkeys(item for parent in parents for item in parent.overlaps)),
        )

    def digest(self) -> str:
        """SHA-256 of the record: what a child names as its parent's ancestry."""
        return sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    def as_json(self, model: str = "") -> dict[str, Any]:
        """The record; `model` is the fingerprint of the model directory that it is written to."""
        content = self.texts.to_bytes() if self.texts is not None else b""
        described = (
            {"number": len(self.texts), "sha256": sha256(content).hexdigest()} if self.texts is not None else None
        )
        return {
            "format": FORMAT,
            **({"model": model} if model else {}),
            "roots": list(self.roots),
            "runs": [dict(run) for run in self.runs],
            "texts": described,
            "unknown": list(self.unknown),
            "overlaps": [{"suite": item.suite, "what": item.what} for item in self.overlaps],
        }

    def write(self, folder: Path, model: str = "") -> None:
        """Write the record to a model directory or checkpoint; the hashes first, so that no record is without them."""
        (folder / ANCESTRY_TEXTS).unlink(missing_ok=True)
        if self.texts is not None:
            (folder / ANCESTRY_TEXTS).write_bytes(self.texts.to_bytes())
        text = json.dumps(self.as_json(model), indent=2, ensure_ascii=False) + "\n"
        (folder / ANCESTRY).write_text(text, encoding="utf-8")


def read_ancestry(folder: Path, model: str = "") -> Ancestry:
    """The ancestry in a model directory or checkpoint; one that is `missing` if there is none.

    `model` is the model's fingerprint: the record of another model says nothing about this one. Raises `ModelError` for
    a record that is damaged, or whose hashes are not those that it names.
    """
    path = folder / ANCESTRY
    if not path.is_file():
        return Ancestry.missing(folder)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = _parse(content)
        described, of_model = content["texts"], content.get("model", "")
        expected = None if described is None else str(described["sha256"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path} is not a record of ancestry ({error!r}): copy it again with its model", field=str(path)
        ) from None
    if model and of_model and of_model != model:
        return replace(found, unknown=(*found.unknown, f"its {ANCESTRY} is that of another model, {of_model[:12]}"))
    return found if expected is None else replace(found, texts=_read_texts(folder / ANCESTRY_TEXTS, expected))


def _parse(content: Any) -> Ancestry:
    """The record without its texts. Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError`."""
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']!r}; this version reads {FORMAT}")
    for name in ("roots", "runs", "unknown", "overlaps"):
        if not isinstance(content[name], list):
            raise TypeError(f"{name} is not a list")
    unknown = tuple(map(str, content["unknown"]))
    if content["texts"] is None and not unknown:
        unknown = ("the texts that it saw were not recorded",)
    return Ancestry(
        roots=tuple(map(str, content["roots"])),
        runs=tuple(dict(run) for run in content["runs"]),
        unknown=unknown,
        overlaps=tuple(KnownOverlap(str(item["suite"]), str(item["what"])) for item in content["overlaps"]),
    )


def _read_texts(path: Path, expected: str) -> SeenTexts:
    if not path.is_file():
        raise ModelError(f"{path} is missing: copy it again with its model", field=str(path))
    content = path.read_bytes()
    if sha256(content).hexdigest() != expected:
        raise ModelError(f"{path} was altered: copy it again with its model", field=str(path))
    return SeenTexts.from_bytes(content, path)


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))

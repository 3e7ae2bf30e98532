"""The models that a run starts from or learns from, and what they saw: a run is refused if that is unknown or judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from encoders.ancestry.overlap import overlaps
from encoders.ancestry.record import Ancestry, read_ancestry
from encoders.ancestry.seen import SeenTexts
from encoders.artifact import ANCESTRY, Artifact, digest
from encoders.labels.evaluated import read_judged_data
from encoders.training.architectures.bases import WEIGHTS, describe_base, is_artifact, resolve_base
from encoders.training.architectures.checkpoint import ARCHITECTURE
from encoders.training.recipe import Recipe
from encoders.words.vectors import WordVectors
from mappings.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Parent:
    """A model that a recipe names: as `role`, its base, teacher or prior. `fingerprint` is "" for a checkpoint."""

    role: str
    name: str
    fingerprint: str
    ancestry: Ancestry

    def as_json(self) -> dict[str, str]:
        """The parent in the record of a run."""
        return {
            "role": self.role,
            "name": Path(self.name).name,
            "fingerprint": self.fingerprint,
            "ancestry": self.ancestry.digest(),
        }


def words_parent(path: str, words: WordVectors) -> Parent:
    """The vectors of words that a model reads, as the one parent of a run that starts from no model."""
    name = Path(path).name
    return Parent("words", name, words.fingerprint, Ancestry.of_root(f"{name} {words.fingerprint}"))


def read_source_ancestry(name: str) -> Ancestry:
    """The ancestry of a base, by its name or path.

    A checkpoint that Medley did not write is the end of a chain. Raises `ModelError` for a damaged record.
    """
    return _read_source(name)[1]


def _read_source(name: str) -> tuple[str, Ancestry]:
    """(fingerprint, "" for a checkpoint; ancestry). A model directory is verified, which reads all of its files, once."""
    folder = Path(resolve_base(name))
    if is_artifact(name):
        fingerprint = Artifact.open(folder).fingerprint
        return fingerprint, read_ancestry(folder, fingerprint)
    return "", _read_checkpoint(name, folder)


def _read_checkpoint(name: str, folder: Path) -> Ancestry:
    if (folder / ANCESTRY).is_file() or (folder / ARCHITECTURE).is_file():
        return read_ancestry(folder)
    weights = next((folder / file for file in WEIGHTS if (folder / file).is_file()), None)
    described = describe_base(name)["base"] if name == "minilm" else Path(name).name if weights else name
    return Ancestry.of_root(f"{described} {digest(weights)[:12]}" if weights else described)


def find_parents(recipe: Recipe, evaluated: Path | None, unknown_allowed: bool) -> list[Parent]:
    """The base of the recipe, and its teacher and prior where it has them, with their ancestry.

    `evaluated` is the folder of the evaluation data sets. Raises `InvalidInput`, which names the role, for an ancestry that
    is unknown and not `unknown_allowed`, and for one that saw what a suite of `evaluated` judges. What an unknown ancestry
    is known to have seen, because a person found it, is allowed with it: the record goes on to the new model.
    """
    named = {"base": recipe.base, "teacher": recipe.teacher, "prior": recipe.prior}
    parents = [_read_parent(role, name) for role, name in named.items() if name]
    for parent in parents:
        if not parent.ancestry.is_known and not unknown_allowed:
            raise InvalidInput(
                f"what the {parent.role} {parent.name!r} was trained on is not known ({'; '.join(parent.ancestry.unknown)}),"
                " so it may have seen what evaluation judges: start from a model whose ancestry is recorded, or allow it"
                " with --unknown-ancestry, which the new model's record then says",
                field=parent.role,
            )
    if evaluated is not None:
        _refuse_overlaps(parents, evaluated, unknown_allowed)
    return parents


def _read_parent(role: str, name: str) -> Parent:
    return Parent(role, name, *_read_source(name))


def _refuse_overlaps(parents: Sequence[Parent], evaluated: Path, recorded_allowed: bool) -> None:
    """Refuse what the hashes of seen texts show, and, unless allowed with the unknown, what a person recorded."""
    trained = [parent for parent in parents if parent.ancestry.runs or parent.ancestry.overlaps]
    suites = read_judged_data(evaluated) if trained else []
    for parent in trained:
        found = [item for item in overlaps(parent.ancestry, suites) if item.counted or not recorded_allowed]
        if found:
            what = "; ".join(f"{item.suite}: {item}" for item in found)
            raise InvalidInput(
                f"the {parent.role} {parent.name!r}, or a model that it comes from, was trained on evaluation data"
                f" ({what}): start from a model that was not",
                field=parent.role,
            )


def make_ancestry(
    parents: Sequence[Parent], recipe: Recipe, files: Mapping[str, str], seen: SeenTexts, checked: bool
) -> Ancestry:
    """The ancestry of the run's model: its parents', and this run, which sees `seen`.

    `files` maps each file of pairs to its SHA-256; `checked` says whether they were compared with evaluation data.
    """
    base, *others = (parent.ancestry for parent in parents)
    run = {
        "name": recipe.name,
        "kind": recipe.kind,
        "parents": [parent.as_json() for parent in parents],
        "pairs": dict(files),
        "texts": len(seen),
        "checked": checked,
    }
    return base.with_run(run, seen, others)

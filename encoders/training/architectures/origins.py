"""Where a base's files are: a folder, the cache of earlier downloads, or the network, in this order.

Looked up before the loaders are asked, which try again for a minute and say in their own words what is missing.
"""

from __future__ import annotations

import json
from pathlib import Path

from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

from encoders.artifact import MANIFEST, SHIPPED
from encoders.training.architectures.families import supported
from mappings.errors import ModelError

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
WORDS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")
PATIENCE = 5.0
"""Seconds for the answer whether there is such a base."""


def located(base: str | Path, field: str) -> str:
    """The folder of a checkpoint, or its name where it has yet to be fetched.

    Raises `ModelError` with `field` where there is none, or one of a family that is not supported.
    """
    name = str(base)
    if _is_path(name):
        folder = Path(name)
    elif (cached := _cached(name)) is not None:
        folder = cached
    else:
        _ask(name, field)
        return name
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{name} is no folder of a Hugging Face checkpoint: {CONFIG} is missing", field=field)
    _check(folder / CONFIG, name, field)
    return str(folder)


def _is_path(name: str) -> bool:
    return name.startswith(("/", ".", "~")) or name.count("/") > 1 or Path(name).exists()


def _cached(name: str) -> Path | None:
    """The folder of an earlier download that holds all that is needed."""
    try:
        found = try_to_load_from_cache(name, CONFIG)
    except ValueError:  # what can be no name at all is told below
        return None
    folder = Path(found).parent if isinstance(found, str) else None
    whole = folder and all(any((folder / file).is_file() for file in files) for files in (WEIGHTS, WORDS))
    return folder if whole else None


def _ask(name: str, field: str) -> None:
    """Ask once whether there is a checkpoint of this name. Raises `ModelError` where none answers."""
    try:
        get_hf_file_metadata(hf_hub_url(name, CONFIG), timeout=PATIENCE)
    except Exception as error:  # the errors of names, of the network and of the server share no class
        shipped = ", ".join(sorted(path.parent.name for path in SHIPPED.glob(f"*/{MANIFEST}")))
        raise ModelError(
            f"no checkpoint could be loaded from {name!r}: there is no such folder, and none of this name could be"
            f" fetched ({type(error).__name__}). A base is a folder, a name such as owner/model, minilm, or a shipped"
            f" model: {shipped}",
            field=field,
        ) from None


def _check(path: Path, name: str, field: str) -> None:
    """Raise `ModelError` for a configuration that cannot be read, or of a family that is not supported."""
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{name} is no Hugging Face checkpoint: {CONFIG} is not JSON ({error})", field=field) from None
    if not isinstance(config, dict):
        raise ModelError(f"{name} is no Hugging Face checkpoint: {CONFIG} is not a JSON object", field=field)
    if "model_type" in config:  # the oldest checkpoints name none, and the loader tells it by the rest
        supported(config["model_type"], name)

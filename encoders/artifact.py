"""The self-describing model directory: `model.json` says what a model is and which files, byte for byte, make it up.

Everything that decides the outputs stands here and nowhere else, so serving is never told a pooling or a length
a second time. The fingerprint is over exactly that part; names, scores and licences can be edited without a rebuild.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, cast

from encoders.cards import markdown
from mappings.errors import ModelError

Kind = Literal["bi-encoder", "poly-encoder", "cross-encoder"]
KINDS: Final = ("bi-encoder", "poly-encoder", "cross-encoder")
POOLINGS: Final = ("mean", "cls", "last", "none")
CUTS: Final = ("end", "middle")
FORMAT: Final = 2
"""2 says how a passage that is too long is cut; a directory of form 1 was cut at the end."""
MANIFEST: Final = "model.json"
WEIGHTS: Final = "weights.bin"
TOKENIZER: Final = "tokenizer.json"
CARD: Final = "README.md"
HALF: Final = "fp16"
"""The form for a GPU: a processor has no kernels for it and would convert at every step."""
QUERIES: Final = "queries"
"""The folder of a model that reads the queries alone, inside the one that reads passages; where both are one, none."""
SCORER: Final = "scorer.npy"
"""A poly-encoder's W, (d, d) in fp32; where each token of a query attends, its importance (d,) beneath."""
SHIPPED: Final = Path(__file__).parent / "models"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model reads text. Lengths are in tokens, special tokens included.

    A bi-encoder reads queries up to `query_tokens` and passages up to `passage_tokens`; in a cross-encoder the
    query part is cut to `query_tokens` and the whole pair to `passage_tokens`. A passage that is too long loses its
    `cut`: its end, or its middle, since an abstract says at its end what was found. A template holds `{text}` once.
    """

    pooling: str = "mean"
    normalise: bool = True
    query_tokens: int = 64
    passage_tokens: int = 256
    query_template: str = "{text}"
    passage_template: str = "{text}"
    cut: str = "end"

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ModelError(
                f"the pooling {self.pooling!r} is unknown; known are {', '.join(POOLINGS)}", field="pooling"
            )
        if self.cut not in CUTS:
            raise ModelError(f"the cut {self.cut!r} is unknown; known are {', '.join(CUTS)}", field="cut")
        if not 4 <= self.query_tokens <= self.passage_tokens:
            raise ModelError(
                f"query_tokens {self.query_tokens} and passage_tokens {self.passage_tokens} must be 4 <= query <= passage",
                field="query_tokens",
            )
        for name in ("query_template", "passage_template"):
            if getattr(self, name).count("{text}") != 1:
                raise ModelError(f"{name} must hold {{text}} once, not be {getattr(self, name)!r}", field=name)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A verified model directory. `forms` maps the name of an arithmetic form to its graph file."""

    folder: Path
    name: str
    kind: Kind
    dimension: int
    reading: Reading
    forms: Mapping[str, str]
    fingerprint: str
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Artifact:
        """Read and verify a model directory: every file's SHA-256, then the fingerprint.

        Raises `ModelError` that names the file and what would be right.
        """
        manifest = _manifest(folder / MANIFEST)
        try:
            artifact = _parse(folder, manifest)
            entries = {str(name): (str(e["sha256"]), int(e["bytes"])) for name, e in manifest["files"].items()}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            path = folder / MANIFEST
            raise ModelError(
                f"{path} is incomplete or has a wrong type: {error!r}; export the model again", field=str(path)
            ) from error
        scorer = {SCORER} if artifact.kind == "poly-encoder" else set()
        _check_files(folder, entries, {WEIGHTS, TOKENIZER, *artifact.forms.values(), *scorer})
        expected = fingerprint(manifest, {name: sha for name, (sha, _) in entries.items()})
        if artifact.fingerprint != expected:
            raise ModelError(
                f"{folder / MANIFEST}: the fingerprint is {artifact.fingerprint[:12]}…, its contents give {expected[:12]}…;"
                " what decides the outputs was edited: export the model again",
                field=str(folder / MANIFEST),
            )
        return artifact

    @property
    def processor_forms(self) -> list[str]:
        """The forms to choose from where there is no GPU, by name."""
        return sorted(form for form in self.forms if form != HALF)

    def queries(self) -> Artifact:
        """The model that reads queries: this one, or its own in `queries/`. Raises `ModelError` for another than named."""
        if QUERIES not in self.manifest:
            return self
        found = Artifact.open(self.folder / QUERIES)
        if found.fingerprint != self.manifest[QUERIES]:
            raise ModelError(
                f"{found.folder} is another model than {self.folder / MANIFEST} names; export the model again",
                field=str(found.folder),
            )
        return found

    def form_path(self, form: str) -> Path:
        """The graph file of a form. Raises `ModelError` for one this model does not have."""
        if form not in self.forms:
            raise ModelError(
                f"the model {self.name} has no form {form!r}; it has {', '.join(sorted(self.forms))}", field="form"
            )
        return self.folder / self.forms[form]


def fingerprint(manifest: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """SHA-256 over what decides the outputs: kind, reading, dimension, weights, tokenizer and the fp32 graph.

    So do the queries' own tower, and a poly-encoder's scorer. `files` maps a file name to its SHA-256. Other forms are roundings of the same model, held together by the gate.
    """
    decisive = {
        "kind": manifest["kind"],
        "dimension": manifest["dimension"],
        "reading": manifest["reading"],
        "weights": files[WEIGHTS],
        "tokenizer": files[TOKENIZER],
        "graph": files[manifest["forms"]["fp32"]],
    }
    decisive |= {name: manifest[name] for name in (QUERIES, "sharpness", "codes") if name in manifest}
    if manifest["kind"] == "poly-encoder":
        decisive["scorer"] = files[SCORER]
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def describe(
    kind: Kind, dimension: int, reading: Reading, forms: Mapping[str, str], card: Mapping[str, Any]
) -> dict[str, Any]:
    """A manifest without its files and fingerprint; `seal` adds them. `card` holds what merely describes."""
    return {
        "format": FORMAT,
        "name": card["name"],
        "kind": kind,
        "dimension": dimension,
        "reading": asdict(reading),
        "forms": dict(forms),
        "card": {key: value for key, value in card.items() if key != "name"},
    }


def seal(folder: Path, manifest: Mapping[str, Any]) -> Artifact:
    """Write `model.json` over all files that lie in `folder`, then open the result as a stranger would.

    A `README.md`, the card for people, is made from it and may be edited: it is not sealed.
    """
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in (MANIFEST, CARD))
    entries = {name: {"sha256": digest(folder / name), "bytes": (folder / name).stat().st_size} for name in names}
    shas = {name: str(entry["sha256"]) for name, entry in entries.items()}
    whole = {**manifest, "files": entries, "fingerprint": fingerprint(manifest, shas)}
    (folder / MANIFEST).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / CARD).write_text(markdown(whole), encoding="utf-8")
    return Artifact.open(folder)


def find(name: str, folders: Sequence[Path]) -> Path:
    """The directory of the model called `name`, first one of `folders` first; a name with a slash is a path itself."""
    candidates = [Path(name)] if "/" in name else [folder / name for folder in folders]
    for candidate in candidates:
        if (candidate / MANIFEST).is_file():
            return candidate
    known = sorted({child.parent.name for folder in folders for child in folder.glob(f"*/{MANIFEST}")})
    raise ModelError(
        f"there is no model {name!r}; known are {', '.join(known) or 'none'}, or give the path of a folder",
        field="model",
    )


def digest(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"{path} is missing; a model directory has one, `medley export` writes it", field=str(path)
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} can't be read as JSON ({error}); export the model again", field=str(path)) from error
    if not isinstance(manifest, dict):
        raise ModelError(f"{path} must hold a JSON object", field=str(path))
    version = manifest.get("format")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ModelError(
            f"{path} has format {version!r}; this program reads up to {FORMAT}: update it", field=str(path)
        )
    return manifest


def _parse(folder: Path, manifest: Mapping[str, Any]) -> Artifact:
    kind = manifest["kind"]
    if kind not in KINDS:
        raise ModelError(
            f"{folder / MANIFEST}: the kind {kind!r} is unknown; known are {', '.join(KINDS)}", field="kind"
        )
    known = {item.name for item in fields(Reading)} - ({"cut"} if manifest["format"] == 1 else set())
    if set(manifest["reading"]) != known:
        raise ModelError(
            f"{folder / MANIFEST}: `reading` must have exactly {', '.join(sorted(known))}", field="reading"
        )
    forms = {str(form): str(file) for form, file in manifest["forms"].items()}
    if "fp32" not in forms or any(Path(file).name != file for file in forms.values()):
        raise ModelError(
            f"{folder / MANIFEST}: `forms` must name an fp32 graph, and files of this directory only", field="forms"
        )
    return Artifact(
        folder=folder,
        name=str(manifest["name"]),
        kind=cast(Kind, kind),
        dimension=int(manifest["dimension"]),
        reading=Reading(**manifest["reading"]),
        forms=forms,
        fingerprint=str(manifest["fingerprint"]),
        manifest=manifest,
    )


def _check_files(folder: Path, entries: Mapping[str, tuple[str, int]], needed: set[str]) -> None:
    """Raise `ModelError` unless exactly the listed bytes are there; a size is compared first, as it costs nothing."""
    if needed - set(entries):
        missing = ", ".join(sorted(needed - set(entries)))
        raise ModelError(f"{folder / MANIFEST}: `files` does not list {missing}; export the model again", field="files")
    for name, (sha, size) in entries.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise ModelError(
                f"{path} is missing; copy the model directory again, whole ({size:,} bytes)", field=str(path)
            )
        if path.stat().st_size != size or digest(path) != sha:
            raise ModelError(
                f"{path} was altered: it must have {size:,} bytes and SHA-256 {sha[:12]}…; copy the model directory again",
                field=str(path),
            )

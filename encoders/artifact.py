"""The self-describing model directory: `model.json` describes a model and lists its files with their SHA-256.

Everything that affects the outputs is in this directory, so serving needs no further settings such as pooling or
length. The fingerprint covers exactly that part; names, scores and licences can be edited without a new export.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from encoders.cards import markdown
from mappings.errors import ModelError

Kind = Literal["bi-encoder", "poly-encoder", "cross-encoder", "stance-classifier"]
KINDS: Final = get_args(Kind)
READ_TOGETHER: Final = ("cross-encoder", "stance-classifier")  # a query, or a claim, and a passage as one input
POOLINGS: Final = ("mean", "cls", "last", "none")
CUTS: Final = ("end", "middle")
WINDOW_POOLINGS: Final = {"late": "mean", "late-context": "mean", "surroundings": "cls"}
WINDOWS: Final = ("separate", *WINDOW_POOLINGS)
FORMAT: Final = 3
"""Format 2 adds how an overlong passage is truncated, which format 1 does at the end, and format 3 how windows are read,
which earlier ones do separately."""
_ADDED: Final = {1: {"cut", "windows"}, 2: {"windows"}, 3: set[str]()}
"""What the `reading` of each format lacks."""
MANIFEST: Final = "model.json"
WEIGHTS: Final = "weights.bin"
TOKENIZER: Final = "tokenizer.json"
CARD: Final = "README.md"
ANCESTRY: Final = "ancestry.json"
"""What the model and its ancestors were trained on (`encoders.ancestry`), beside the model and not part of it."""
ANCESTRY_TEXTS: Final = "ancestry.bin"  # the hashes of those texts
HALF: Final = "fp16"
"""The numeric form for GPUs: a CPU has no kernels for it and would convert at every operator."""
QUERIES: Final = "queries"  # the subdirectory of a separate query encoder, inside that of the passage encoder
SCORER: Final = "scorer.npy"
"""A poly-encoder's W, shape (d, d), in fp32; with one code per query token, the importance vector (d,) is a last row."""
BASIS: Final = "basis.npy"  # a poly-encoder's, for compressed token vectors; older ones have none
STANCE_HEAD: Final = "stance.npz"
"""A stance classifier's head in fp32: the arrays `encoders.stances.HEAD_ARRAYS`."""
_HEADS: Final = {"poly-encoder": (SCORER,), "stance-classifier": (STANCE_HEAD,)}
SHIPPED: Final = Path(__file__).parent / "models"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model turns text into inputs. Lengths are in tokens and include special tokens.

    A bi-encoder truncates queries to `query_tokens` and passages to `passage_tokens`; a cross-encoder truncates the
    query to `query_tokens` and the whole pair to `passage_tokens`. `cut` is the part that an overlong passage loses:
    its end, or its middle, because an abstract reports its findings at the end. A template contains `{text}` once.
    `windows` says how a bi-encoder reads the windows of a passage: each as a text of its own, or late, as the mean over its
    tokens when it has read the whole passage once (late chunking, Günther et al. 2024). With `late-context` the tokens of
    the passage's context, such as its title, count in each window, as they do where each is a text of its own. With
    `surroundings` it is read whole, among its document's other passages, whose tokens have the type 1 (CAPR's Longformer).
    """

    pooling: str = "mean"
    normalise: bool = True
    query_tokens: int = 64
    passage_tokens: int = 256
    query_template: str = "{text}"
    passage_template: str = "{text}"
    cut: str = "end"
    windows: str = "separate"

    def __post_init__(self) -> None:
        for name, known in (("pooling", POOLINGS), ("cut", CUTS)):
            if (value := getattr(self, name)) not in known:
                raise ModelError(f"the {name} {value!r} is unknown; known are {', '.join(known)}", field=name)
        if self.windows not in WINDOWS or (self.reads_around and self.pooling != WINDOW_POOLINGS[self.windows]):
            valid = "separate, or late or late-context where the pooling is mean, or surroundings where it is cls"
            raise ModelError(f"windows is {self.windows!r}; it must be {valid}", field="windows")
        if not 4 <= self.query_tokens <= self.passage_tokens:
            raise ModelError(
                f"query_tokens {self.query_tokens} and passage_tokens {self.passage_tokens} must be 4 <= query <= passage",
                field="query_tokens",
            )
        for name in ("query_template", "passage_template"):
            if (value := getattr(self, name)).count("{text}") != 1:
                raise ModelError(f"{name} must contain {{text}} exactly once; it is {value!r}", field=name)

    @property
    def reads_around(self) -> bool:
        """Whether the vector of a window depends on what is around it."""
        return self.windows != "separate"

    @property
    def pools_windows(self) -> bool:
        """Whether the vector of a window is the mean over its tokens in the passage."""
        return self.windows in ("late", "late-context")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A verified model directory. `forms` maps each numeric form to its graph file."""

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
        """Read a model directory; verify its files and fingerprint. Raises `ModelError`, which names file and remedy."""
        manifest = _manifest(folder / MANIFEST)
        try:
            artifact = _parse(folder, manifest)
            entries = {str(name): (str(e["sha256"]), int(e["bytes"])) for name, e in manifest["files"].items()}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            path = folder / MANIFEST
            raise ModelError(
                f"{path} is incomplete or has a value of the wrong type: {error!r}; export the model again",
                field=str(path),
            ) from error
        needed = {WEIGHTS, TOKENIZER, *artifact.forms.values(), *_HEADS.get(artifact.kind, ())}
        _check_files(folder, entries, needed)
        expected = fingerprint(manifest, {name: sha for name, (sha, _) in entries.items()})
        if artifact.fingerprint != expected:
            raise ModelError(
                f"{folder / MANIFEST}: the fingerprint is {artifact.fingerprint[:12]}…, but the contents give {expected[:12]}…;"
                " a setting that affects the outputs was edited: export the model again",
                field=str(folder / MANIFEST),
            )
        return artifact

    @property
    def processor_forms(self) -> list[str]:
        """The numeric forms that suit a CPU, sorted by name."""
        return sorted(form for form in self.forms if form != HALF)

    def queries(self) -> Artifact:
        """The query encoder: this model, or the one in `queries/`. Raises `ModelError` if its fingerprint is not the named one."""
        if QUERIES not in self.manifest:
            return self
        found = Artifact.open(self.folder / QUERIES)
        if found.fingerprint != self.manifest[QUERIES]:
            raise ModelError(
                f"{found.folder} is not the model that {self.folder / MANIFEST} names; export the model again",
                field=str(found.folder),
            )
        return found

    def form_path(self, form: str) -> Path:
        """The graph file of a numeric form. Raises `ModelError` if this model does not have the form."""
        if form not in self.forms:
            raise ModelError(
                f"the model {self.name} has no numeric form {form!r}; it has {', '.join(sorted(self.forms))}",
                field="form",
            )
        return self.folder / self.forms[form]


def fingerprint(manifest: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """SHA-256 over what affects the outputs: kind, reading, dimension, weights, tokenizer and the fp32 graph.

    A separate query encoder, a poly-encoder's scorer and basis, and a stance classifier's head are included. `files` maps a
    file name to its SHA-256. The other numeric forms are roundings of the same model, which the gate compares with fp32.
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
    for name in _HEADS.get(manifest["kind"], ()):
        decisive["scorer"] = files[name]
    decisive |= {name: files[name] for name in (BASIS,) if name in files}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def describe(
    kind: Kind, dimension: int, reading: Reading, forms: Mapping[str, str], card: Mapping[str, Any]
) -> dict[str, Any]:
    """A manifest without files and fingerprint, which `seal` adds. `card` does not affect the outputs."""
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
    """Write `model.json` with the hashes of all files in `folder`, then open and verify the result.

    `README.md`, the model card, is generated from it; it has no hash, so it can be edited.
    """
    beside = (MANIFEST, CARD, ANCESTRY, ANCESTRY_TEXTS)
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in beside)
    entries = {name: {"sha256": digest(folder / name), "bytes": (folder / name).stat().st_size} for name in names}
    shas = {name: str(entry["sha256"]) for name, entry in entries.items()}
    whole = {**manifest, "files": entries, "fingerprint": fingerprint(manifest, shas)}
    (folder / MANIFEST).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / CARD).write_text(markdown(whole), encoding="utf-8")
    return Artifact.open(folder)


def find(name: str, folders: Sequence[Path]) -> Path:
    """The directory of the model `name` in the first of `folders` that has it; a name with a slash is a path.

    Raises `ModelError`, which lists the known models.
    """
    candidates = [Path(name)] if "/" in name else [folder / name for folder in folders]
    for candidate in candidates:
        if (candidate / MANIFEST).is_file():
            return candidate
    known = sorted({child.parent.name for folder in folders for child in folder.glob(f"*/{MANIFEST}")})
    raise ModelError(
        f"there is no model {name!r}; known are {', '.join(known) or 'none'}; or give the path of a directory",
        field="model",
    )


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"{path} is missing; every model directory has one, and `medley export` writes it", field=str(path)
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not valid JSON ({error}); export the model again", field=str(path)) from error
    if not isinstance(manifest, dict):
        raise ModelError(f"{path} must contain a JSON object", field=str(path))
    version = manifest.get("format")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ModelError(
            f"{path} has format {version!r}; this version of Medley reads formats up to {FORMAT}: update it",
            field=str(path),
        )
    return manifest


def _parse(folder: Path, manifest: Mapping[str, Any]) -> Artifact:
    kind = manifest["kind"]
    if kind not in KINDS:
        raise ModelError(
            f"{folder / MANIFEST}: the kind {kind!r} is unknown; known are {', '.join(KINDS)}", field="kind"
        )
    known = {item.name for item in fields(Reading)} - _ADDED[manifest["format"]]
    if set(manifest["reading"]) != known:
        raise ModelError(
            f"{folder / MANIFEST}: `reading` must have exactly {', '.join(sorted(known))}", field="reading"
        )
    forms = {str(form): str(file) for form, file in manifest["forms"].items()}
    if "fp32" not in forms or any(Path(file).name != file for file in forms.values()):
        raise ModelError(
            f"{folder / MANIFEST}: `forms` must name an fp32 graph and only files in this directory", field="forms"
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
    """Raise `ModelError` unless every listed file is intact; sizes are compared first, because that costs nothing."""
    if needed - set(entries):
        missing = ", ".join(sorted(needed - set(entries)))
        raise ModelError(f"{folder / MANIFEST}: `files` does not list {missing}; export the model again", field="files")
    for name, (sha, size) in entries.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise ModelError(
                f"{path} is missing; copy the complete model directory again ({size:,} bytes)", field=str(path)
            )
        if path.stat().st_size != size or digest(path) != sha:
            raise ModelError(
                f"{path} was altered: it must have {size:,} bytes and SHA-256 {sha[:12]}…; copy the model directory again",
                field=str(path),
            )

"""The model directory: what opens, and one clear message for everything that does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import edit, write_artifact

from encoders.artifact import SHIPPED, Artifact, Reading, find, fingerprint
from mappings.errors import ModelError


def test_a_directory_says_what_the_model_is(bi: Artifact) -> None:
    again = Artifact.open(bi.folder)
    assert again == bi
    assert (again.name, again.kind, again.dimension) == ("tiny-bi", "bi-encoder", 8)
    assert again.reading == Reading(query_tokens=16, passage_tokens=32)
    assert len(again.fingerprint) == 64
    assert again.form_path("int8") == bi.folder / "int8.onnx"
    with pytest.raises(ModelError, match="has no numeric form 'bf16'; it has fp32, int8"):
        again.form_path("bf16")


@pytest.mark.parametrize("name", ["weights.bin", "tokenizer.json", "fp32.onnx", "int8.onnx", "model.json"])
def test_a_missing_file_is_named(bi: Artifact, name: str) -> None:
    (bi.folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name} is missing") as caught:
        Artifact.open(bi.folder)
    assert caught.value.field == str(bi.folder / name)


@pytest.mark.parametrize("name", ["weights.bin", "tokenizer.json", "fp32.onnx"])
def test_an_altered_file_is_named(bi: Artifact, name: str) -> None:
    path = bi.folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=f"{name} was altered: it must have"):
        Artifact.open(bi.folder)
    path.write_bytes(content[:-1])
    with pytest.raises(ModelError, match=f"{name} was altered"):
        Artifact.open(bi.folder)


def test_a_truncated_or_foreign_manifest_is_named(bi: Artifact) -> None:
    path = bi.folder / "model.json"
    whole = path.read_text()
    for content in (whole[: len(whole) // 2], "", "\x00\xff"):
        path.write_text(content)
        with pytest.raises(ModelError, match=r"model\.json is not valid JSON"):
            Artifact.open(bi.folder)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ModelError, match=r"model\.json is not valid JSON"):
        Artifact.open(bi.folder)
    path.write_text("[]")
    with pytest.raises(ModelError, match="must contain a JSON object"):
        Artifact.open(bi.folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 4}, "has format 4; this version of Medley reads formats up to 3"),
        ({"format": 1}, "`reading` must have exactly"),
        ({"format": 0}, "has format 0"),
        ({"format": "new"}, "has format 'new'"),
        ({"kind": "decoder"}, "kind 'decoder' is unknown; known are bi-encoder, poly-encoder, cross-encoder"),
        ({"reading": {}}, "`reading` must have exactly"),
        ({"reading": 3}, "is incomplete or has a value of the wrong type"),
        ({"files": {}}, "`files` does not list"),
        ({"files": None}, "is incomplete or has a value of the wrong type"),
        ({"files": {"weights.bin": {}}}, "is incomplete or has a value of the wrong type"),
        ({"forms": {"int8": "int8.onnx"}}, "must name an fp32 graph"),
        ({"forms": {"fp32": "../fp32.onnx"}}, "only files in this directory"),
        ({"forms": []}, "is incomplete or has a value of the wrong type"),
        ({"dimension": "wide"}, "is incomplete or has a value of the wrong type"),
        ({"dimension": 16}, "the fingerprint is"),
        ({"fingerprint": "0" * 64}, "the fingerprint is 000000000000"),
    ],
)
def test_a_wrong_entry_is_named(bi: Artifact, changes: dict[str, object], message: str) -> None:
    edit(bi.folder, **changes)
    with pytest.raises(ModelError, match=message):
        Artifact.open(bi.folder)


def test_a_directory_of_the_first_form_is_cut_at_the_end(bi: Artifact) -> None:
    path = bi.folder / "model.json"
    manifest = json.loads(path.read_text())
    del manifest["reading"]["cut"], manifest["reading"]["windows"]
    files = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    path.write_text(json.dumps({**manifest, "format": 1, "fingerprint": fingerprint(manifest, files)}))
    assert Artifact.open(bi.folder).reading == bi.reading
    assert bi.reading.cut == "end"


def test_no_entry_can_be_left_out(bi: Artifact) -> None:
    path = bi.folder / "model.json"
    whole = json.loads(path.read_text())
    for name in ("format", "name", "kind", "dimension", "reading", "forms", "files", "fingerprint"):
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(ModelError, match=r"model\.json"):
            Artifact.open(bi.folder)


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(["kind", "reading", "forms", "files", "dimension", "format"]), st.none() | st.lists(st.integers()) | st.text() | st.integers()))  # fmt: skip
@pytest.mark.slow
def test_nonsense_is_one_clear_error(changes: dict[str, object]) -> None:
    folder = _shared()
    original = (folder / "model.json").read_text()
    try:
        edit(folder, **changes)
        if json.loads((folder / "model.json").read_text()) != json.loads(original):
            with pytest.raises(ModelError):
                Artifact.open(folder)
    finally:
        (folder / "model.json").write_text(original)


def test_the_reading_decides_the_fingerprint_and_the_card_does_not(tmp_path: Path) -> None:
    plain = write_artifact(tmp_path / "plain")
    same = write_artifact(tmp_path / "named-otherwise", reading=plain.reading)
    longer = write_artifact(tmp_path / "longer", reading=Reading(query_tokens=16, passage_tokens=48))
    templated = write_artifact(tmp_path / "templated", reading=Reading("mean", True, 16, 32, "query: {text}"))
    assert plain.fingerprint == same.fingerprint
    assert len({plain.fingerprint, longer.fingerprint, templated.fingerprint}) == 3
    edit(plain.folder, card={"name": "x", "scores": {"nDCG@10": 0.7}})
    assert Artifact.open(plain.folder).fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"pooling": "max"}, "pooling"),
        ({"query_tokens": 300}, "query_tokens"),
        ({"query_tokens": 0}, "query_tokens"),
        ({"query_template": "no place"}, "query_template"),
        ({"passage_template": "{text}{text}"}, "passage_template"),
    ],
)
def test_a_reading_checks_itself(values: dict[str, object], field: str) -> None:
    with pytest.raises(ModelError) as caught:
        Reading(**values)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_models_are_found_by_name_first_folder_first(tmp_path: Path) -> None:
    mine, shipped = tmp_path / "mine", tmp_path / "shipped"
    write_artifact(mine / "both")
    write_artifact(shipped / "both")
    write_artifact(shipped / "only")
    assert find("both", [mine, shipped]) == mine / "both"
    assert find("only", [mine, shipped]) == shipped / "only"
    assert find(str(mine / "both"), []) == mine / "both"
    with pytest.raises(ModelError, match="there is no model 'other'; known are both, only; or give the path"):
        find("other", [mine, shipped])


def test_every_shipped_model_is_whole_and_small() -> None:
    folders = [path.parent for path in SHIPPED.glob("*/model.json")]
    if not folders:
        pytest.skip("no model is shipped yet")
    for folder in folders:
        artifact = Artifact.open(folder)
        assert artifact.name == folder.name
        assert {"base", "licence"} <= set(artifact.manifest["card"])
        assert artifact.manifest["gate"]["torch"] >= 0.9999
        assert all(form["spearman"] >= 0.99 for form in artifact.manifest["gate"]["forms"].values())
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 90_000_000


def _shared() -> Path:
    """One artifact for all examples of a property, outside of any test's own folder."""
    import tempfile

    folder = Path(tempfile.gettempdir()) / "medley-test-artifact"
    if not (folder / "model.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write_artifact(folder)
    return folder

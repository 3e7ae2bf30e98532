"""The index bodies of every shipped kind, whole, beside golden files: a change of one is seen and meant.

`MEDLEY_WRITE_GOLDEN=1 pytest tests/mappings/test_indexes.py` writes them again.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mappings.collection import kinds, load
from mappings.errors import InvalidInput
from mappings.indexes import index_body

GOLDEN = Path(__file__).parents[1] / "golden"
ENCODERS = {"dense": ("0123456789abcdef", 384)}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_the_body_of_an_index_is_the_golden_one(kind):
    body = index_body(load(kind), ENCODERS, 3)
    file = GOLDEN / f"{kind}-index.json"
    if os.environ.get("MEDLEY_WRITE_GOLDEN"):
        file.write_text(json.dumps(body, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    assert json.loads(file.read_text(encoding="utf-8")) == body


def test_copies_and_shards_come_from_the_collection():
    collection = replace(load("abstracts"), shards=5, replicas=2)
    index = index_body(collection, {}, 1)["settings"]["index"]
    assert (index["number_of_shards"], index["number_of_replicas"], "auto_expand_replicas" in index) == (5, 2, False)


def test_every_keyword_is_bounded_and_every_vector_names_its_engine():
    properties = index_body(load("notes"), ENCODERS, 1)["mappings"]["properties"]
    flat = [*properties.values(), *properties["fields"]["properties"].values()]
    assert {item["ignore_above"] for item in flat if item.get("type") == "keyword"} == {8_191}
    assert properties["vectors"]["properties"]["dense"]["method"]["engine"] == "lucene"


def test_quantised_vectors_are_mapped_and_told():
    mappings = index_body(replace(load("abstracts"), vector_bits=7), ENCODERS, 1)["mappings"]
    encoder = {"name": "sq", "parameters": {"bits": 7}}
    parameters = {"m": 16, "ef_construction": 100, "encoder": encoder}
    assert mappings["properties"]["vectors"]["properties"]["dense"] == {
        "type": "knn_vector",
        "dimension": 384,
        "space_type": "innerproduct",
        "method": {"name": "hnsw", "engine": "lucene", "parameters": parameters},
    }
    assert mappings["_meta"]["vectors"] == {"form": "numbers", "bits": 7}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("vector_bits = 1", "opensearch.vector_bits must be one of 32, 7, not 1"),
        ("vector_bits = true", "opensearch.vector_bits"),
        ('vector_bits = "7"', "opensearch.vector_bits"),
        ("shards = 0", "opensearch.shards"),
        ("replicas = -1", "opensearch.replicas"),
        ('replicas = "many"', "'0-2'"),
    ],
)
def test_wrong_shards_and_copies_are_named(tmp_path, line, named):
    text = kinds()["notes"].read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(f"{text}\n[opensearch]\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=named):
        load("mine", extra=tmp_path)

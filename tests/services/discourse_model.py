"""A discourse model without training: small enough to follow by hand, and its vectors depend on whole documents.

The entity's half of a sentence is the sum of the words of its document, the aspect's that of its own words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from encoders.discourse.artifact import (
    ASPECTS,
    DOCUMENTS,
    ENTITIES,
    NAMES,
    WORDS,
    DiscourseArtifact,
    seal_discourse,
)
from encoders.discourse.encoder import write_names
from encoders.discourse.reading import FLAGS
from encoders.words.vectors import WordVectors

WIDTH = 16
VOCABULARY = [
    "asthma",
    "gout",
    "fever",
    "migraine",
    "cough",
    "wheeze",
    "joint",
    "pain",
    "inhaler",
    "allopurinol",
    "rest",
    "triptan",
    "dust",
    "urate",
    "infection",
    "light",
    "symptoms",
    "treatment",
    "causes",
    "history",
    "social",
    "of",
    "the",
    "in",
    "is",
    "by",
    "patients",
    "have",
    "give",
]


def write_discourse_model(folder: Path, name: str = "by-words", seed: int = 5) -> DiscourseArtifact:
    """The model in a new directory `folder`; other seeds give other vectors, and another fingerprint."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    words = draw.normal(size=(len(VOCABULARY), WIDTH)).astype(np.float16)
    ngrams = draw.normal(size=(512, WIDTH)).astype(np.float16)
    WordVectors(VOCABULARY, words, ngrams).save(folder / WORDS)
    write_names(folder / NAMES, (), np.zeros((0, WIDTH), np.float32))
    for file in (ENTITIES, ASPECTS):
        nodes = [helper.make_node("ReduceSum", ["words", "first"], ["vectors"], keepdims=0)]
        _write(folder / file, nodes, ("words", WIDTH), ["b", "e"])
    nodes = [
        helper.make_node("Slice", ["sentences", "zero", "width", "last"], ["own"]),
        helper.make_node("ReduceSum", ["own", "first"], ["whole"], keepdims=1),
        helper.make_node("Mul", ["own", "nothing"], ["blank"]),
        helper.make_node("Add", ["whole", "blank"], ["each"]),  # the sum beside every sentence
        helper.make_node("Concat", ["each", "own"], ["vectors"], axis=-1),
    ]
    _write(folder / DOCUMENTS, nodes, ("sentences", WIDTH + len(FLAGS)), ["t", "b", "e"])
    return seal_discourse(folder, name, WIDTH, {"words": "drawn at random"})


def _write(path: Path, nodes: list[Any], source: tuple[str, int], output: list[str]) -> None:
    constants = {
        "first": np.array([0], np.int64),
        "zero": np.array([0], np.int64),
        "width": np.array([WIDTH], np.int64),
        "last": np.array([2], np.int64),
        "nothing": np.array(0, np.float32),
    }
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "by-words",
        [
            helper.make_tensor_value_info(source[0], TensorProto.FLOAT, ["n", "b", source[1]]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["b"]),
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, output)],
        [numpy_helper.from_array(value, name) for name, value in constants.items() if name in used],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)

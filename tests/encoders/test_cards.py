"""The card for people: everything the manifest says, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tiny import write_artifact

from encoders.artifact import CARD, SHIPPED, Artifact
from encoders.cards import markdown

READING = {"pooling": "none", "normalise": False, "query_tokens": 64, "passage_tokens": 256, "cut": "middle"}
MANIFEST = {
    "name": "small",
    "kind": "cross-encoder",
    "dimension": 1,
    "fingerprint": "0123456789abcdef",
    "reading": READING,
    "gate": {"forms": {"int8": {"spearman": 0.9987, "ndcg_change": -0.0012}}},
    "card": {
        "base": "a base",
        "licence": "Apache-2.0",
        "data": {
            "training_pairs": {"claim": 1200},
            "licences": {"claim": "CC BY 4.0"},
            "dropped": {"near-twins": 3},
            "mining": "BM25",
        },
        "recipe": {"batch": 8, "frozen": [], "tasks": {"claim": {"take": 1_000_000, "repeat": 2}}},
        "held_out": {"base": {"claim": {"RR": 0.5}}, "trained": {"claim": {"queries": 20, "RR": 0.75}}},
        "measured": [
            {
                "suite": "scifact",
                "system": "reranked",
                "measure": "nDCG@10",
                "value": 0.75,
                "low": 0.7,
                "high": 0.8,
                "command": "medley evaluate scifact",
            }
        ],
        "known_failures": ["Numbers are not compared."],
        "notes": ["A note."],
    },
}
CARD_OF_IT = """# small

A cross-encoder from a base; licence: Apache-2.0; fingerprint 0123456789ab.

## Intended use

Reading a query and a passage together and scoring how well the passage answers, to order candidates.

## How it reads

Queries up to 64 tokens, query and passage together up to 256; a passage that is too long loses its middle.

## Training data

| task | pairs | licence |
|---|---|---|
| claim | 1,200 | CC BY 4.0 |

Dropped before: 3 near-twins.
Hard negatives: BM25.

## Recipe

batch 8.

Tasks: claim repeat 2.

## Scores on held-out training pairs

| task | queries | RR of the base | RR |
|---|---|---|---|
| claim | 20 | 0.500 | 0.750 |

## Scores on test sets

| suite | system | measure | value | command |
|---|---|---|---|---|
| scifact | reranked | nDCG@10 | 0.750 (0.700 to 0.800) | `medley evaluate scifact` |

## What the export measured

| form | Spearman with the unrounded model | change of nDCG@10 |
|---|---|---|
| int8 | 0.9987 | -0.0012 |

## Limits and known failures

- Numbers are not compared.
- It orders texts; it does not judge whether a claim is true, and its scores are no probabilities of anything.
- English medical text. Nothing is known about other languages.
- No use in diagnosis or treatment without a person who reads the passage itself.

## Notes

- A note.
"""


def test_the_whole_card() -> None:
    assert markdown(MANIFEST) == CARD_OF_IT


def test_what_the_manifest_does_not_say_is_left_out() -> None:
    card = markdown({**MANIFEST, "card": {}, "gate": {}})
    assert card.startswith("# small\n\nA cross-encoder from an unnamed base; licence: that of the base;")
    assert [line for line in card.splitlines() if line.startswith("## ")] == [
        "## Intended use", "## How it reads", "## Limits and known failures",
    ]  # fmt: skip


def test_a_directory_holds_its_card_and_it_is_not_sealed(tmp_path: Path) -> None:
    artifact = write_artifact(tmp_path / "tiny", "bi-encoder")
    path = artifact.folder / CARD
    assert path.read_text(encoding="utf-8") == markdown(artifact.manifest)
    assert CARD not in artifact.manifest["files"]
    path.write_text("edited", encoding="utf-8")
    assert Artifact.open(artifact.folder) == artifact


def test_every_shipped_model_has_the_card_of_its_manifest() -> None:
    for folder in sorted(path.parent for path in SHIPPED.glob("*/model.json")):
        assert (folder / CARD).read_text(encoding="utf-8") == markdown(Artifact.open(folder).manifest), folder.name

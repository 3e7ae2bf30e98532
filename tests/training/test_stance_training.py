"""Stance classifiers: the head by hand, training that learns, and an export that reads as torch does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import CROSS, write_base  # noqa: E402

from encoders.artifact import Artifact  # noqa: E402
from encoders.labels.pairs import Pair, Text, read_pairs, write_lines  # noqa: E402
from encoders.stances import HEAD_ARRAYS, StanceClassifier, apply_head, claim_inputs  # noqa: E402
from encoders.training.architectures.claims import read_claims  # noqa: E402
from encoders.training.architectures.markers import templates  # noqa: E402
from encoders.training.architectures.stance import StanceHead  # noqa: E402
from encoders.training.data.batches import make_claim_example, plan_batches  # noqa: E402
from encoders.training.export.restore import restore  # noqa: E402
from encoders.training.export.service import export_run  # noqa: E402
from encoders.training.objectives.stances import stance_loss  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import InvalidInput, ModelError  # noqa: E402
from mappings.stances import UNREAD, ClaimPassage  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

STANCE = replace(
    CROSS, kind="stance-classifier", objective="stance", tasks={"stance-x": Share(repeat=40)}, negatives=0,
    learning_rate=2e-3, head_rate=3, batch=8, max_query=16, dropout=0.0, save_every=100,
)  # fmt: skip
DRUGS = ("statins", "aspirin", "walking", "masks")


def pair(drug: str, verb: str, split: str, number: int) -> Pair:
    """ "statins lower pain" beside two sentences, of which one says that, or the opposite, or something else."""
    said = {"supports": "lower", "refutes": "raise", "neither": "help"}[verb]
    first, second = f"{drug} {said} pain.", "The young sleep."
    order = (first, second) if number % 2 else (second, first)
    text = " ".join(order)
    start = text.index(first)
    evidence = () if verb == "neither" else ((start, start + len(first)),)
    name = f"{drug}:{verb}:{number}"
    passage = Text(name, "In the old", "", text)
    return Pair(
        "stance-x", name, name, split, "x", f"{drug} lower pain", (name,), passage, stance=verb, evidence=evidence
    )


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stances")
    made = [
        pair(drug, verb, "held-out" if number > 3 else "train", number)
        for drug in DRUGS
        for verb in ("supports", "refutes", "neither")
        for number in range(6)
    ]
    write_lines(folder / "stance-x.jsonl", made)
    return folder


@pytest.fixture(scope="module")
def run(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Path, dict[str, object]]:
    folder = tmp_path_factory.mktemp("run")
    recipe = replace(STANCE, base=str(write_base(folder / "base", max_position_embeddings=512)))
    return recipe, folder / "run", train(recipe, pairs, folder / "run")


def test_the_head_in_torch_and_without_it_are_the_same_formula() -> None:
    torch.manual_seed(0)
    head = StanceHead(12)
    states, places = (
        torch.randn(2, 9, 12),
        torch.tensor([[-1, -1, 0, 0, 1, 1, 1, -1, -1], [-1, 2, 2, 0, -1, -1, -1, -1, -1]]),
    )
    found = head(states, places)
    arrays = {name: value.detach().numpy() for name, value in head.state_dict().items()}
    assert set(arrays) == set(HEAD_ARRAYS)
    for row in range(2):
        read = apply_head(arrays, states[row].numpy(), places[row].tolist(), 3)
        assert read.probabilities == pytest.approx(found.stances[row].softmax(-1).tolist(), abs=1e-6)
        for place, (value, known) in enumerate(zip(found.evidence[row], found.known[row], strict=True)):
            assert read.evidence[place] == (pytest.approx(value.item(), abs=1e-5) if known else UNREAD)
    assert read.best(2) == sorted(read.best(2)) == [0, 2]


def test_a_passage_without_a_sentence_is_read_by_its_claim_alone() -> None:
    head = StanceHead(12)
    found = head(torch.randn(1, 4, 12), torch.full((1, 4), -1))
    assert found.stances.isfinite().all()
    assert not found.known.any()


def test_training_learns_stances_and_evidence(run: tuple[Recipe, Path, dict[str, object]]) -> None:
    report = run[2]
    assert report["held_out"]["trained"]["mean"]["macro_F1"] > 0.9
    assert report["held_out"]["trained"]["stance-x"]["hit@2"] == 1.0


def test_what_is_exported_reads_as_the_checkpoint(
    run: tuple[Recipe, Path, dict[str, object]], pairs: Path, tmp_path: Path
) -> None:
    recipe, folder, _ = run
    artifact = export_run(folder, pairs, tmp_path / "model")
    assert (artifact.kind, Artifact.open(tmp_path / "model").fingerprint) == ("stance-classifier", artifact.fingerprint)
    held = [item for item in read_pairs(pairs / "stance-x.jsonl") if item.split == "held-out"]
    passages = [ClaimPassage.of(item.positive.text, item.positive.title) for item in held]
    classifier = StanceClassifier(artifact, threads=1, form="fp32")
    ours = [classifier.read(item.query, [passage])[0] for item, passage in zip(held, passages, strict=True)]
    assert [item.stance for item in ours] == [item.stance for item in held]
    ready = restore(artifact)
    with torch.inference_mode():
        theirs = read_claims(ready.model, ready.tokenizer, [item.query for item in held], passages, recipe)
    assert np.array([item.probabilities for item in ours]) == pytest.approx(
        theirs.stances.softmax(-1).numpy(), abs=1e-3
    )
    assert "macro F1" in (tmp_path / "model/README.md").read_text()


def test_markers_stand_before_claim_and_passage_as_in_serving(
    run: tuple[Recipe, Path, dict[str, object]], pairs: Path, tmp_path: Path
) -> None:
    artifact = export_run(run[1], pairs, tmp_path / "model")
    ready, passage = restore(artifact), ClaimPassage.of("statins raise pain.")
    query, text = templates("template")
    with torch.inference_mode():
        plain, marked = (
            read_claims(ready.model, ready.tokenizer, ["statins lower pain"], [passage], replace(run[0], markers=name))
            for name in ("none", "template")
        )
    classifier = StanceClassifier(artifact, threads=1, form="fp32")
    classifier._reading = replace(artifact.reading, query_template=query, passage_template=text)
    (served,) = classifier.read("statins lower pain", [passage])
    assert served.probabilities == pytest.approx(marked.stances[0].softmax(-1).tolist(), abs=1e-3)
    assert plain.stances.tolist() != marked.stances.tolist()


def test_a_base_whose_cls_token_comes_last_is_refused(pairs: Path, tmp_path: Path) -> None:
    base = write_base(tmp_path / "base", family="xlnet")
    with pytest.raises(ModelError, match="XLNet has it at the end"):
        train(replace(STANCE, base=str(base)), pairs, tmp_path / "run")


def test_a_head_that_was_altered_is_refused(
    run: tuple[Recipe, Path, dict[str, object]], pairs: Path, tmp_path: Path
) -> None:
    export_run(run[1], pairs, tmp_path / "model")
    (tmp_path / "model/stance.npz").write_bytes(b"x")
    with pytest.raises(ModelError, match="altered"):
        Artifact.open(tmp_path / "model")


def test_further_examples_say_nothing_of_the_claim(pairs: Path) -> None:
    found = [item for item in read_pairs(pairs / "stance-x.jsonl") if item.split == "train"]
    batches = plan_batches({"stance-x": found}, replace(STANCE, further=1.0, tasks={"stance-x": Share()}))
    examples = [item for batch in batches for item in batch]
    own = {(item.query, item.positive.id): item.stance for item in found}
    other = [item for item in examples if (item.query, item.ids[0]) not in own]
    assert len(other) > len(found) / 2
    assert {(item.claim.stance, any(item.claim.marked)) for item in other if item.claim} == {("neither", False)}


def test_a_loss_without_marks_is_that_of_the_stance_alone() -> None:
    head = StanceHead(4)
    found = head(torch.randn(1, 3, 4), torch.tensor([[-1, 0, 1]]))
    told = pair("statins", "supports", "train", 1)
    example = make_claim_example(told, Share(context=0.0), __import__("random").Random(0)).claim
    assert example is not None
    assert example.marked == (True, False)
    plain = stance_loss(found, [replace(example, marked=None)], 0.5)
    assert plain == stance_loss(found, [example], 0.0)
    assert stance_loss(found, [example], 0.5) > plain


@pytest.mark.parametrize("cut", ["end", "middle"])
def test_an_overlong_passage_loses_sentences_and_says_which(
    run: tuple[Recipe, Path, dict[str, object]], pairs: Path, tmp_path: Path, cut: str
) -> None:
    artifact = export_run(run[1], pairs, tmp_path / "model")
    classifier = StanceClassifier(artifact, threads=1, form="fp32")
    reading = replace(artifact.reading, passage_tokens=40, cut=cut)
    passage = ClaimPassage.of(" ".join(["The old sleep in the old."] * 20), "In the old")
    (item,) = claim_inputs(classifier.model.tokenizer.underlying, reading, ["statins lower pain"], [passage])
    assert len(item.places) == len(item.tokens) == 40
    kept = {place for place in item.places if place >= 0}
    assert 0 in kept
    assert (19 in kept) == (cut == "middle")


@pytest.mark.parametrize(
    ("change", "field"), [({"objective": "listwise"}, "objective"), ({"further": 2}, "further"), ({"evidence": -1}, "evidence"),
                          ({"head_rate": 0}, "head_rate"), ({"max_query": 99}, "max_query")]
)  # fmt: skip
def test_a_wrong_setting_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        replace(STANCE, **change)
    assert caught.value.field == field


def test_of_pairs_without_a_stance_only_their_negatives_are_shown() -> None:
    found = replace(pair("statins", "supports", "train", 0), stance=None)
    other = Text("other", "", "", "Masks help nobody.")
    recipe = replace(STANCE, tasks={"stance-x": Share(repeat=3)}, further=0.0)
    mined = replace(found, negatives=(other, replace(other, id=found.positive.id)), relevant=(found.positive.id,))
    shown = [item for batch in plan_batches({"stance-x": [mined, found]}, recipe) for item in batch]
    assert {item.ids for item in shown} == {("other",)}
    assert {item.claim.stance for item in shown if item.claim} == {"neither"}
    assert {any(item.claim.marked or ()) for item in shown if item.claim} == {False}

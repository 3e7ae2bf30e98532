"""A batch in chunks: the step is that of the whole batch, for every kind of model, and both passes draw the same masks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import BI, CROSS, WORDS, write_base, write_pairs  # noqa: E402

from encoders.labels.pairs import Pair, Text, read_pairs, write_lines  # noqa: E402
from encoders.training.architectures.checkpoint import Checkpoint  # noqa: E402
from encoders.training.data.batches import Example, load_pairs, make_claim_example, plan_batches  # noqa: E402
from encoders.training.data.frozen_readings import FrozenReadings, TaughtReading  # noqa: E402
from encoders.training.data.frozen_scores import FrozenScores, make_key  # noqa: E402
from encoders.training.loop.gradients import Side, cached_gradients  # noqa: E402
from encoders.training.loop.processes import ALONE  # noqa: E402
from encoders.training.objectives.anchor import Anchor  # noqa: E402
from encoders.training.objectives.losses import Objective  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import choose_gradients, train  # noqa: E402
from mappings.errors import InvalidInput  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

POLY = replace(BI, kind="poly-encoder", towers="separate")
STANCE = replace(CROSS, kind="stance-classifier", objective="stance", tasks={"stance-x": Share()}, negatives=0)
RECIPES = {
    "contrastive": BI,
    "two towers, late": replace(BI, objective="whole-batch", towers="separate", windows="late"),
    "triplet": replace(BI, objective="triplet"),
    "triplet-both": replace(BI, objective="triplet-both", softmax=0.5, negatives=0),
    "kept": replace(BI, keep=0.4),
    "taught": replace(BI, teacher="t", distillation="margin-mse", teacher_share=0.5, negatives=2),
    "poly": POLY,
    "poly by tokens, taught": replace(POLY, codes="tokens", teacher="t", distillation="kl", teacher_share=0.5),
    "bfloat16": replace(BI, precision="bf16"),
    "listwise": replace(CROSS, prior="p"),
    "pointwise, taught": replace(CROSS, objective="pointwise", teacher="t", distillation="kl", teacher_share=0.5),
    "two-class": replace(CROSS, objective="two-class"),
    "two-class pairs": replace(CROSS, objective="two-class-pairs"),
    "interaction": replace(CROSS, head="interaction"),
    "cross over the batch": replace(CROSS, objective="whole-batch", negatives=0),
    "stance": STANCE,
    "stance, taught": replace(STANCE, teacher="t", distillation="kl", teacher_share=0.5),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, and pairs of texts of different lengths, some of them with sentences that are marked."""
    home = tmp_path_factory.mktemp("home")
    write_base(home / "bert")
    pairs = write_pairs(home / "pairs")
    longer = [
        replace(pair, positive=replace(pair.positive, text=pair.positive.text + f" {' '.join(WORDS[:place])}." * place))
        for place, pair in enumerate(read_pairs(pairs / "claim.jsonl"))
    ]
    write_lines(pairs / "claim.jsonl", longer)
    write_lines(pairs / "stance-x.jsonl", [make_stance(place) for place in range(16)])
    return home


def make_stance(place: int) -> Pair:
    """A claim with one to three sentences; every third has no stance, and every other one no marked sentence."""
    text = " ".join(f"{word} help the old." for word in WORDS[: 1 + place % 3])
    evidence = ((0, len(WORDS[0]) + len(" help the old.")),) if place % 2 else None
    stance = (None, "supports", "refutes")[place % 3]
    passage, other = Text(str(place), "In the old", "", text), Text("other", "", "", "sleep.")
    split = "train" if place < 12 else "held-out"
    return Pair(
        "stance-x", str(place), str(place), split, "x", f"{WORDS[place]} lower pain", (str(place),), passage, (other,),
        stance=stance, evidence=evidence if stance else None,
    )  # fmt: skip


def load(home: Path, name: str, **changes: Any) -> tuple[Checkpoint, Objective, Sequence[Example]]:
    """A model, its objective with teacher, prior and anchor by invented figures, and a batch."""
    recipe: Recipe = replace(RECIPES[name], base=str(home / "bert"), **{"dropout": 0.0, "batch": 7, **changes})
    if recipe.kind == "stance-classifier":
        pairs = load_pairs(home / "pairs", recipe, "train")["stance-x"]
        shown = [pair for pair in pairs if pair.stance or recipe.teacher]
        batch = [make_claim_example(pair, Share(), random.Random(place)) for place, pair in enumerate(shown[:7])]
    else:
        batch = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)[0]
    torch.manual_seed(0)
    ready = load_initial(recipe)
    for item in ready.model.parameters():  # a random base scores everything about the same
        item.data += 0.1 * torch.randn(item.shape)
    texts = [(item.query, text) for item in batch for text in item.texts]
    scores = FrozenScores({make_key(*pair): number % 5 / 2 for number, pair in enumerate(texts)})
    readings = FrozenReadings({make_key(*pair): make_reading(place) for place, pair in enumerate(texts)})
    teacher = {"stance-classifier": readings}.get(recipe.kind, scores) if recipe.teacher else None
    prior = scores if recipe.prior else None
    return ready, Objective(ready.model, ready.tokenizer, recipe, teacher, prior, Anchor.load(recipe, "cpu")), batch


def make_reading(place: int) -> TaughtReading:
    stances = np.array([place % 3, 0.5, place % 2], dtype=np.float32)
    return TaughtReading(stances, np.array([1.0, -1.0, 0.5][: 1 + place % 3], dtype=np.float32))


def gradients(ready: Checkpoint) -> dict[str, torch.Tensor]:
    found = {name: item.grad.clone() for name, item in ready.model.named_parameters() if item.grad is not None}
    ready.model.zero_grad()
    return found


def both_ways(home: Path, name: str, chunk: int, **changes: Any) -> tuple[dict[str, torch.Tensor], ...]:
    """The gradients of the whole batch at once, and in chunks; the losses are compared here."""
    ready, objective, batch = load(home, name, **changes)
    loss = objective.loss(batch)
    loss.backward()
    whole = gradients(ready)
    in_chunks = choose_gradients(replace(objective, recipe=replace(objective.recipe, chunk=chunk)), ALONE)
    assert in_chunks is not None
    tolerance = 1e-5 if objective.recipe.precision == "fp32" else 0.02
    assert in_chunks(batch) == pytest.approx(loss.item(), rel=tolerance)
    return whole, gradients(ready)


@pytest.mark.parametrize("chunk", [1, 9, 1000])
@pytest.mark.parametrize("name", RECIPES)
def test_a_step_in_chunks_is_that_of_the_whole_batch(name: str, chunk: int, home: Path) -> None:
    whole, in_chunks = both_ways(home, name, chunk)
    assert whole.keys() == in_chunks.keys()
    assert max(item.abs().max() for item in whole.values()) > 1e-3
    for key, wanted in whole.items():
        tolerance = 1e-5 if RECIPES[name].precision == "fp32" else 0.05 * wanted.abs().max().item() + 1e-3
        assert torch.allclose(in_chunks[key], wanted, atol=tolerance, rtol=1e-4), key


def test_both_passes_draw_the_same_masks_and_chunks_draw_others(home: Path) -> None:
    """With dropout, what is read for the gradients is what was read for the loss, to the bit."""
    ready, objective, batch = load(home, "poly", dropout=0.5)
    ready.model.train()
    read: dict[str, list[tuple[torch.Tensor, ...]]] = {}

    class Watched:
        compare = staticmethod(objective.compare)

        def sides(self, batch: Sequence[Example]) -> dict[str, Side]:
            return {name: side._replace(read=watch(name, side)) for name, side in objective.sides(batch).items()}

    def watch(name: str, side: Side) -> Any:
        def called(items: Sequence[Any]) -> tuple[torch.Tensor, ...]:
            read.setdefault(name, []).append(side.read(items))
            return read[name][-1]

        return called

    torch.manual_seed(5)
    cached_gradients(Watched(), batch, 2, ALONE)
    after = torch.rand(1)
    for name, items in (("queries", 7), ("passages", 14)):
        count = (items + 1) // 2
        first, second = read[name][:count], read[name][count:]
        assert len(first) == len(second) == count
        assert all(
            torch.equal(one, two) for both in zip(first, second, strict=True) for one, two in zip(*both, strict=True)
        )
        assert not any(part.requires_grad for part in first[0])
        assert second[0][0].requires_grad
    torch.manual_seed(5)
    for name in ("passages", "queries"):  # the generator goes on after the first pass
        side = objective.sides(batch)[name]
        for at in range(0, len(side.items), 2):
            side.read(side.items[at : at + 2])
    assert torch.equal(torch.rand(1), after)
    same = Side(["pain"] * 4, objective.sides(batch)["queries"].read)
    assert not torch.equal(same.read(["pain"])[0], same.read(["pain"])[0])


def test_no_more_sequences_are_read_at_once_than_a_chunk_has(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, chunk, most in (("kept", 3, 3), ("stance", 2, 2), ("listwise", 9, 8), ("cross over the batch", 5, 5)):
        ready, objective, batch = load(home, name)
        sizes, tower = list[int](), getattr(ready.model, "passages", getattr(ready.model, "backbone", ready.model))
        hook = lambda _, args, given, sizes=sizes: sizes.append(len(given["input_ids"]))  # noqa: E731
        tower.register_forward_pre_hook(hook, with_kwargs=True)
        found = choose_gradients(replace(objective, recipe=replace(objective.recipe, chunk=chunk)), ALONE)
        assert found is not None
        found(batch)
        assert max(sizes) == most


def test_a_run_in_chunks_is_the_run_of_whole_batches(home: Path, tmp_path: Path) -> None:
    recipe = replace(BI, base=str(home / "bert"), tasks={"claim": Share()}, dropout=0.0, epochs=3, save_every=1)
    for chunk in (0, 3):
        report = train(replace(recipe, chunk=chunk), home / "pairs", tmp_path / str(chunk))
        assert report["recipe"]["chunk"] == chunk
    whole, chunked = (torch.load(tmp_path / name / "state.pt", weights_only=True)["model"] for name in ("0", "3"))
    assert all(torch.allclose(value, chunked[name], atol=1e-4) for name, value in whole.items())


@pytest.mark.parametrize("chunk", [-1, 1.5, True, "many"])
def test_a_chunk_that_is_no_number_of_sequences_is_refused(chunk: Any) -> None:
    with pytest.raises(InvalidInput, match=f"chunk is {chunk!r}; it must be") as caught:
        replace(BI, chunk=chunk)
    assert caught.value.field == "chunk"

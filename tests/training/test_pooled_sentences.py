"""Sentences by a transformer: what it reads, once each, and the joint step, each by hand in torch; wrong recipes and bases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import write_base  # noqa: E402

from encoders.text import Tokens  # noqa: E402
from encoders.training.architectures.families import inputs_of  # noqa: E402
from encoders.training.discourse import sentences as sentence_module  # noqa: E402
from encoders.training.discourse.document import DocumentEncoder  # noqa: E402
from encoders.training.discourse.folder import choose_gate_sentences  # noqa: E402
from encoders.training.discourse.joint import JointEncoder, JointLoss, TokenDocument  # noqa: E402
from encoders.training.discourse.recipe import DiscourseRecipe, parse_discourse_recipe  # noqa: E402
from encoders.training.discourse.sentences import SentenceTower, read_frozen  # noqa: E402
from encoders.training.kinds import load_any_recipe  # noqa: E402
from encoders.training.loop.gradients import cached_gradients  # noqa: E402
from encoders.training.loop.processes import ALONE  # noqa: E402
from encoders.training.runs.discourse import train_discourse  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from mappings.errors import InvalidInput, ModelError  # noqa: E402
from tests.training.discourse_corpora import RECIPE, used_words, write_articles, write_words  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

LENGTH = 8
TEXTS = [
    "Patients feel glass pain.",
    "The pain is worse at night.",
    "Give salt drops each day. The drops heal most patients, and the gene comes from a parent at night.",
    "A gene breaks.",
]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    for family in ("bert", "roberta", "xlnet"):
        write_base(folder / family, family, words=used_words())
    return folder


def some_tower(base: Path, pooling: str, length: int = LENGTH) -> SentenceTower:
    recipe = replace(RECIPE, sentences="pooled", base=str(base), sentence_length=length)
    tower = SentenceTower(load_initial(recipe.of_sentences(pooling)), length)
    tower.model.eval()
    return tower


def read_alone(tower: SentenceTower, tokens: Tokens) -> Any:
    """The last hidden states of one sentence, without padding, shape (t, d)."""
    arrays = {"input_ids": tokens.ids, "attention_mask": [1] * len(tokens), "token_type_ids": tokens.types}
    inputs = {name: torch.tensor([arrays[name]]) for name in inputs_of(tower.model)}
    return tower.model.passages(**inputs).last_hidden_state[0]


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_sentence_is_pooled_from_its_own_tokens(bases: Path, family: str, pooling: str) -> None:
    tower = some_tower(bases / family, pooling)
    tokens = tower.tokenize(TEXTS)
    tokenizer = tower.ready.tokenizer
    assert [item.ids for item in tokens] == tokenizer(TEXTS, truncation=True, max_length=LENGTH)["input_ids"]
    assert max(map(len, tokens)) == LENGTH
    found = tower.read(tokens)
    for vector, item in zip(found, tokens, strict=True):
        states = read_alone(tower, item)
        own = states.mean(0) if pooling == "mean" else states[-1 if family == "xlnet" else 0]
        torch.testing.assert_close(vector, own, atol=1e-5, rtol=1e-4)


class CountingTower(SentenceTower):
    """Counts the sentences that it reads."""

    count = 0

    def read(self, sentences: Sequence[Tokens]) -> Any:
        self.count += len(sentences)
        return super().read(sentences)


def test_each_sentence_is_read_once_and_a_kill_costs_one_batch(
    bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sentence_module.BATCH_TOKENS, "cpu", 2 * LENGTH)
    told: list[dict[str, Any]] = []
    ready = some_tower(bases / "bert", "mean").ready
    tower = CountingTower(ready, LENGTH)
    texts = [*TEXTS, *(f"{text} {word}" for text in TEXTS for word in ("salt", "paper")), *TEXTS]
    whole = read_frozen(tower, texts, tmp_path, "a base", told.append)
    assert tower.count == len(set(texts)) == 12
    assert told[-1] == {"sentences": 12, "of": 12}
    wanted = tower.read(tower.tokenize(TEXTS)).detach().numpy()
    np.testing.assert_allclose(whole.lookup(TEXTS), wanted, atol=2e-3)
    with pytest.raises(KeyError):
        whole.lookup(["Never read."])

    (path,) = tmp_path.glob("sentences-*.bin")
    content = path.read_bytes()
    row = 2 * tower.dimension
    path.write_bytes(content[: 7 * row + 5])  # the fourth batch of two is half written
    tower.count = 0
    again = read_frozen(tower, texts, tmp_path, "a base", told.append)
    assert tower.count == 12 - 6
    assert path.read_bytes() == content
    np.testing.assert_array_equal(again.lookup(texts), whole.lookup(texts))

    tower.count = 0
    read_frozen(tower, texts, tmp_path, "another base", told.append)
    read_frozen(CountingTower(ready, LENGTH - 1), texts, tmp_path, "a base", told.append)
    assert tower.count == 12
    assert len(list(tmp_path.glob("sentences-*.bin"))) == 3


def some_documents(tower: SentenceTower) -> list[TokenDocument]:
    draw = torch.Generator().manual_seed(3)
    found = []
    for texts in (TEXTS[:1], TEXTS[1:], TEXTS):
        flags = torch.randint(0, 2, (len(texts), 5), generator=draw).float()
        entities, aspects = (torch.randn(len(texts), 8, generator=draw) for _ in range(2))
        found.append(TokenDocument(tower.tokenize(texts), flags, entities, aspects))
    return found


def loss_by_hand(model: JointEncoder, batch: Sequence[TokenDocument]) -> Any:
    """Equation 17 over each document alone, with the CLS state of each sentence alone."""
    losses = []
    for item in batch:
        vectors = torch.stack([read_alone(model.tower, tokens)[0] for tokens in item.sentences])
        inputs = torch.cat([vectors, item.flags], 1)[None]
        entities, aspects = model.documents(inputs, torch.tensor([len(vectors)]))
        distance = (entities[0] - item.entities).norm(dim=1) + (aspects[0] - item.aspects).norm(dim=1)
        losses.append((torch.sqrt(1 + (distance / 4) ** 2) - 1).mean())
    return torch.stack(losses).mean()


def gradients_of(model: JointEncoder) -> dict[str, Any]:
    found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


@pytest.mark.parametrize("chunk", [0, 3, 64])
def test_the_joint_step_is_the_loss_of_documents_through_every_sentence(bases: Path, chunk: int) -> None:
    tower = some_tower(bases / "bert", "cls")
    torch.manual_seed(5)
    model = JointEncoder(tower, DocumentEncoder(RECIPE, tower.dimension + 5)).eval()
    batch, loss = some_documents(tower), JointLoss(model)
    by_hand = loss_by_hand(model, batch)
    by_hand.backward()
    wanted = gradients_of(model)
    assert {name.split(".")[0] for name in wanted} == {"sentences", "documents"}
    assert loss(batch).item() == pytest.approx(by_hand.item(), rel=1e-5)
    value = cached_gradients(loss, batch, chunk, ALONE)
    assert value == pytest.approx(by_hand.item(), rel=1e-5)
    found = gradients_of(model)
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[name], atol=1e-5, rtol=1e-3)


def test_the_second_step_has_a_schedule_of_its_own_and_the_first_does_not_depend_on_it() -> None:
    recipe = replace(RECIPE, sentences="pooled", fine_tune_epochs=2, fine_tune_steps=9, fine_tune_rate=3e-5, chunk=7)
    second = recipe.of_fine_tuning()
    assert (second.epochs, second.steps, second.learning_rate) == (2, 9, 3e-5)
    assert (second.warmup, second.decay, second.save_every) == (0.1, 0.0, RECIPE.save_every // 10)
    assert recipe.first_step() == replace(RECIPE, sentences="pooled")
    read = recipe.of_sentences("cls")
    assert (read.kind, read.pooling, read.similarity, read.max_length) == ("bi-encoder", "cls", "dot", 96)
    assert read.dropout == 0


def test_the_gate_compares_sentences_of_held_out_documents_first() -> None:
    own, others = [f"own {n}" for n in range(100)], [f"other {n}" for n in range(300)]
    chosen = choose_gate_sentences(own + own, others, 13)
    assert len(chosen) == len(set(chosen)) == 192
    assert set(own) <= set(chosen)
    assert chosen == choose_gate_sentences(own + own, others, 13)
    with pytest.raises(InvalidInput, match=r"15 different sentences; .* compares 16"):
        choose_gate_sentences(own[:8], own[:15], 13)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"sentences": "glove"}, "sentences"),
        ({"sentences": "pooled", "base": ""}, "base"),
        ({"sentences": "pooled", "base": 3}, "base"),
        ({"sentences": "pooled", "sentence_length": 3}, "sentence_length"),
        ({"sentences": "pooled", "fine_tune_epochs": 1, "fine_tune_rate": 0}, "fine_tune_rate"),
        ({"sentences": "pooled", "fine_tune_epochs": -1}, "fine_tune_epochs"),
        ({"sentences": "pooled", "chunk": 1.5}, "chunk"),
        ({"fine_tune_epochs": 1}, "fine_tune_epochs"),
        ({"sentences": "pooled", "fine_tune_steps": 5}, "fine_tune_steps"),
    ],
)
def test_a_wrong_recipe_names_the_setting(values: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_discourse_recipe({"documents": ["health"], **values}, "r")
    assert caught.value.field == field


def test_a_wrong_base_is_named_before_anything_is_written(bases: Path, tmp_path: Path) -> None:
    write_articles(tmp_path)
    write_words(tmp_path / "words.npz")
    recipe = replace(RECIPE, words=str(tmp_path / "words.npz"), sentences="pooled", base=str(bases / "bert"))
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        train_discourse(replace(recipe, base=str(tmp_path)), tmp_path, tmp_path / "run")
    with pytest.raises(InvalidInput, match="has positions for 80 tokens"):
        train_discourse(replace(recipe, sentence_length=81), tmp_path, tmp_path / "run")
    written = bases / "written"
    write_base(written)
    (written / "architecture.json").write_text("{}")
    with pytest.raises(InvalidInput, match="trained on is not known"):
        train_discourse(replace(recipe, base=str(written)), tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_shipped_recipes_share_their_first_step() -> None:
    pooled, tuned = (load_any_recipe(name) for name in ("cdv-pooled", "cdv-finetuned"))
    assert isinstance(pooled, DiscourseRecipe)
    assert isinstance(tuned, DiscourseRecipe)
    assert (pooled.sentences, pooled.base, pooled.sentence_length, pooled.fine_tune_epochs) == (
        "pooled",
        "minilm",
        96,
        0,
    )
    assert tuned.fine_tune_epochs > 0
    assert replace(tuned.first_step(), name=pooled.name) == pooled

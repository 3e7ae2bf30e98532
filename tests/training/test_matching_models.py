"""Every matching network gives, in a padded batch, the score that its paper's formulas give by hand for a pair alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_matchers import DIMENSION, MAX_PASSAGE, MAX_QUERY, PASSAGES, QUERIES, both, each, make_table  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from encoders.training.matching.inputs import MatchBatch  # noqa: E402
from encoders.training.matching.layers import MatcherSizes, RbfKernels  # noqa: E402
from encoders.training.matching.matcher import MODELS, Matcher  # noqa: E402
from encoders.training.matching.models import dssm as dssm_model  # noqa: E402
from encoders.training.matching.recipe import NAMES, MatcherRecipe  # noqa: E402
from encoders.training.recipe import Share  # noqa: E402

pytestmark = [pytest.mark.torch]
UNITS = 4
SIZES = MatcherSizes(DIMENSION, UNITS, MAX_QUERY, MAX_PASSAGE)


def make_model(name: str) -> Any:
    """A model whose every weight is random: nothing is hidden by a weight that starts as 0 or 1."""
    torch.manual_seed(5)
    model = MODELS[name](SIZES).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape) * 0.4)
    return model


def cosine(left: Tensor, right: Tensor) -> float:
    return float(left @ right / (left.norm() * right.norm()))


def deep(
    part: nn.Sequential, value: Tensor, activation: Callable[[Tensor], Tensor], count: int, last: bool = False
) -> Tensor:
    """So many linear layers with the activation between them, and with `last` after them."""
    linear = [item for item in part if isinstance(item, nn.Linear)]
    assert len(linear) == count
    for at, item in enumerate(linear):
        value = item.weight @ value + (0 if item.bias is None else item.bias)
        if last or at < count - 1:
            value = activation(value)
    return value


def windows(values: Tensor, layer: nn.Conv1d, place: int) -> Tensor:
    """What a convolution of three words centred at `place` gives, zeros beyond the text."""
    found = torch.zeros(layer.out_channels) if layer.bias is None else layer.bias.clone()
    for offset in (-1, 0, 1):
        if 0 <= place + offset < len(values):
            found = found + layer.weight[:, :, offset + 1] @ values[place + offset]
    return found


def halved(rows: list[Tensor]) -> Tensor:
    return torch.stack([torch.stack(rows[at : at + 2]).amax(0) for at in range(0, len(rows), 2)])


def arc_i(model: Any, pair: MatchBatch) -> Tensor:
    found = []
    for layers, values in ((model.query, pair.query[0]), (model.passage, pair.passage[0])):
        for layer in layers:
            values = halved([windows(values, layer, place).relu() for place in range(len(values))])
        found.append(values.amax(0))
    return deep(model.score, torch.cat(found), torch.relu, 2)


def grid_max(plane: Tensor) -> Tensor:
    """PyTorch's own adaptive pooling of one pair, as the score layer reads it."""
    return functional.adaptive_max_pool2d(plane, (3, 10)).flatten()


def arc_ii(model: Any, pair: MatchBatch) -> Tensor:
    query, passage = pair.query[0], pair.passage[0]
    left = [windows(query, model.query, place) for place in range(len(query))]
    right = [windows(passage, model.passage, place) for place in range(len(passage))]
    plane = torch.stack([torch.stack([(one + other).relu() for other in right]) for one in left]).permute(2, 0, 1)
    plane = functional.max_pool2d(plane, 2, ceil_mode=True)
    plane = functional.conv2d(plane[None], model.planes.weight, model.planes.bias, padding=1)[0].relu()
    return deep(model.score, grid_max(plane), torch.relu, 2)


def dssm(model: Any, pair: MatchBatch) -> Tensor:
    found = []
    for tower, trigrams in ((model.query, pair.query_trigrams[0]), (model.passage, pair.passage_trigrams[0])):
        counts = torch.bincount(trigrams.flatten(), minlength=tower.count.num_embeddings).float()
        counts[0] = 0
        found.append(deep(tower.deeper, torch.tanh(counts @ tower.count.weight), torch.tanh, 2, last=True))
    return torch.tensor(10 * cosine(*found))


def c_dssm(model: Any, pair: MatchBatch) -> Tensor:
    found = []
    for tower, trigrams in ((model.query, pair.query_trigrams[0]), (model.passage, pair.passage_trigrams[0])):
        words = [tower.count.weight[[int(at) for at in own if at]].sum(0).view(3, -1) for own in trigrams]
        # of three words, the first stands in the first third of l_t, the last in the last
        states = [
            torch.tanh(sum(words[at + off][off + 1] for off in (-1, 0, 1) if 0 <= at + off < len(words)))
            for at in range(len(words))
        ]
        found.append(deep(tower.deeper, torch.stack(states).amax(0), torch.tanh, 1, last=True))
    return torch.tensor(10 * cosine(*found))


def drmm(model: Any, pair: MatchBatch) -> Tensor:
    gates = torch.softmax(model.gate * pair.idf[0], 0)
    total = torch.zeros(1)
    for at, word in enumerate(pair.query[0]):
        histogram = np.zeros(30)
        for to, other in enumerate(pair.passage[0]):
            place = 29 if pair.exact[0, at, to] else min(28, int((cosine(word, other) + 1) / 2 * 29))
            histogram[place] += 1
        counted = torch.tensor(np.log(1 + histogram), dtype=torch.float32)
        total = total + gates[at] * deep(model.score, counted, torch.tanh, 2)
    return total


def matchpyramid(model: Any, pair: MatchBatch) -> Tensor:
    matrix = torch.tensor([[cosine(word, other) for other in pair.passage[0]] for word in pair.query[0]])
    plane = functional.conv2d(matrix[None, None], model.planes.weight, model.planes.bias, padding=1)[0].relu()
    return deep(model.score, grid_max(plane), torch.relu, 2)


def anmm(model: Any, pair: MatchBatch) -> Tensor:
    attention = torch.softmax(pair.query[0] @ model.attend.weight[0], 0)
    total = torch.zeros(1)
    for at, word in enumerate(pair.query[0]):
        matched = torch.zeros(1)
        for to, other in enumerate(pair.passage[0]):
            similar = cosine(word, other)
            place = 200 if pair.exact[0, at, to] else min(199, int((similar + 1) / 2 * 200))
            matched = matched + model.bins[place] * similar
        total = total + attention[at] * torch.sigmoid(matched)
    return model.scale * total


MEANS = [-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
DEVIATIONS = [0.1] * 10 + [0.001]


def kernels(left: Tensor, right: Tensor) -> list[float]:
    found = []
    for mean, deviation in zip(MEANS, DEVIATIONS, strict=True):
        logs = [
            np.log(1 + sum(np.exp(-((cosine(word, other) - mean) ** 2) / (2 * deviation**2)) for other in right))
            for word in left
        ]
        found.append(sum(logs))
    return found


def k_nrm(model: Any, pair: MatchBatch) -> Tensor:
    return model.score(torch.tensor(kernels(pair.query[0], pair.passage[0]), dtype=torch.float32))


def conv_knrm(model: Any, pair: MatchBatch) -> Tensor:
    def grams(values: Tensor, layer: nn.Conv1d) -> Tensor:
        size = layer.kernel_size[0]
        rows = [
            [layer.weight[:, :, n] @ values[at + n] for n in range(size) if at + n < len(values)]
            for at in range(len(values))
        ]
        return torch.stack([(layer.bias + sum(row)).relu() for row in rows])

    features = [
        feature
        for of_query in model.grams
        for of_passage in model.grams
        for feature in kernels(grams(pair.query[0], of_query), grams(pair.passage[0], of_passage))
    ]
    assert [layer.kernel_size for layer in model.grams] == [(1,), (2,), (3,)]
    assert {layer.out_channels for layer in model.grams} == {128}
    return model.score(torch.tensor(features, dtype=torch.float32))


def duet(model: Any, pair: MatchBatch) -> Tensor:
    exact = torch.zeros(MAX_QUERY, MAX_PASSAGE)
    exact[: pair.exact.shape[1], : pair.exact.shape[2]] = pair.exact[0].float()
    rows = [torch.tanh(model.places.weight @ row + model.places.bias) for row in exact]
    local = deep(model.local, torch.cat(rows), torch.tanh, 2)
    query, passage = pair.query[0], pair.passage[0]
    states = [torch.tanh(windows(query, model.query, at)) for at in range(len(query))]
    query = torch.tanh(model.of_query(torch.stack(states).amax(0)))
    read = torch.zeros(MAX_PASSAGE, UNITS)
    for at in range(len(passage)):
        read[at] = torch.tanh(windows(passage, model.passage, at))
    size = MAX_PASSAGE // 10
    parts = [model.of_passage(read[at : at + size].amax(0)).tanh() * query for at in range(MAX_PASSAGE - size + 1)]
    return local + deep(model.distributed, torch.cat(parts), torch.tanh, 2)


def two_ways(layer: Any, kind: type[nn.RNNBase], values: Tensor) -> Tensor:
    """PyTorch's own bidirectional layer with the same weights, on one text."""
    found = kind(values.shape[1], UNITS, bidirectional=True, batch_first=True)
    back = {f"{name}_reverse": value for name, value in layer.back.state_dict().items()}
    found.load_state_dict(layer.forth.state_dict() | back)
    return found(values[None])[0][0]


def mv_lstm(model: Any, pair: MatchBatch) -> Tensor:
    left, right = two_ways(model.query, nn.LSTM, pair.query[0]), two_ways(model.passage, nn.LSTM, pair.passage[0])
    matches = [float(one @ model.interact @ other + model.bias) for one in left for other in right]
    return deep(model.score, torch.tensor(sorted(matches, reverse=True)[:10]), torch.relu, 2)


def attend(layer: Any, values: Tensor) -> Tensor:
    weights = torch.softmax(torch.cat([deep(layer.weigh, value, torch.tanh, 2) for value in values]), 0)
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def har(model: Any, pair: MatchBatch) -> Tensor:
    query = two_ways(model.query, nn.GRU, pair.query[0])
    found = []
    for places in pair.sentences[0]:
        words = two_ways(model.passage, nn.GRU, torch.stack([pair.passage[0][int(at) - 1] for at in places if at]))
        weight = torch.cat([model.cross.one.weight[0], model.cross.other.weight[0], model.cross.both])
        scores = torch.stack([torch.stack([weight @ torch.cat([d, q, d * q]) for q in query]) for d in words])
        to_query, to_words = scores.softmax(1), scores.softmax(0)
        attended, returned = to_query @ query, to_query @ to_words.T @ words
        found.append(attend(model.of_words, torch.cat([words, attended, words * attended, words * returned], 1)))
    passage = model.reduce(attend(model.of_sentences, torch.stack(found)))
    return deep(model.score, attend(model.of_query, query) * passage, torch.relu, 2)


BY_HAND: dict[str, Callable[[Any, MatchBatch], Tensor]] = {
    "arc-i": arc_i,
    "arc-ii": arc_ii,
    "dssm": dssm,
    "c-dssm": c_dssm,
    "drmm": drmm,
    "matchpyramid": matchpyramid,
    "anmm": anmm,
    "k-nrm": k_nrm,
    "conv-knrm": conv_knrm,
    "duet": duet,
    "mv-lstm": mv_lstm,
    "har": har,
}


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_padded_batch_gives_what_the_formulas_give_for_each_pair(name: str) -> None:
    model = make_model(name)
    expected = [float(BY_HAND[name](model, pair).squeeze()) for pair in each()]
    assert abs(expected[0] - expected[1]) > 1e-3, "the pairs must tell right from wrong"
    scores = model(both())
    assert scores.shape == (2,)
    assert scores.tolist() == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_pairs_that_share_a_text_have_the_scores_of_each_pair_alone(name: str) -> None:
    model, table = make_model(name), make_table()
    queries, passages = [QUERIES[at] for at in (1, 0, 1, 0)], [PASSAGES[at] for at in (1, 1, 0, 1)]
    alone = [float(model(table.batch([query], [passage]))) for query, passage in zip(queries, passages, strict=True)]
    batch = table.batch(queries, passages)
    assert batch.query_number.tolist() == [0, 1, 0, 1]
    assert batch.passage_number.tolist() == [0, 0, 1, 0]
    assert model(batch).tolist() == pytest.approx(alone, rel=1e-3, abs=1e-4)


def test_a_shared_text_is_read_once() -> None:
    from encoders.training.matching.layers import read_once

    read: list[list[float]] = []

    def double(values: Tensor) -> Tensor:
        read.append(values.tolist())
        return 2 * values

    found = read_once(double, torch.tensor([0, 1, 0, 2, 1]), torch.tensor([3.0, 5.0, 3.0, 7.0, 5.0]))
    assert found.tolist() == [6.0, 10.0, 6.0, 14.0, 10.0]
    assert read == [[3.0, 5.0, 7.0]]


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_of_a_model_learns(name: str) -> None:
    model = make_model(name)
    (model(both()) * torch.tensor([1.0, -2.0])).sum().backward()
    still = {key for key, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()}
    # a constant added to every score moves no ranking, and a window may have no positive value
    assert all(weight.grad is not None for weight in model.parameters())
    assert {key for key in still if "bias" not in key} == set()


def test_widths_are_those_of_the_papers() -> None:
    assert dssm_model.HIDDEN == 300
    assert RbfKernels().widths.tolist() == pytest.approx(DEVIATIONS)


@torch.no_grad()
def test_the_layer_that_adapts_vectors_of_words_changes_what_the_network_reads() -> None:
    recipe = MatcherRecipe("t", "k-nrm", {"slots": Share()}, units=UNITS, adapt=True)
    model = Matcher(recipe, DIMENSION).eval()
    batch = both()
    assert model(batch).tolist() == pytest.approx(model.network(batch).tolist())
    assert model.adapt is not None
    model.adapt.weight[0, 1] = 3.0
    assert model(batch).tolist() != pytest.approx(model.network(batch).tolist())


@torch.no_grad()
def test_vectors_of_words_are_dropped_in_training_alone() -> None:
    model = Matcher(MatcherRecipe("t", "k-nrm", {"slots": Share()}, units=UNITS, dropout=0.5), DIMENSION)
    batch = both()
    assert model.eval()(batch).tolist() == model.network(batch).tolist()
    torch.manual_seed(5)
    assert model.train()(batch).tolist() != pytest.approx(model.network(batch).tolist())


def test_k_max_pooling_has_zeros_behind_fewer_matches() -> None:
    from encoders.training.matching.models.mv_lstm import take_strongest

    matrix, mask = (
        torch.tensor([[[-1.0, 9.0, 5.0], [2.0, 9.0, 9.0]]]),
        torch.tensor([[[True, False, True], [True, False, False]]]),
    )
    assert take_strongest(matrix, mask).tolist() == [[5.0, 2.0, -1.0, *[0.0] * 7]]


def test_a_passage_shorter_than_the_grid_is_pooled_as_pytorch_pools_it() -> None:
    from encoders.training.matching.layers import pool_grid

    torch.manual_seed(1)
    plane, rows, columns = torch.randn(3, 2, 4, 12), [1, 4, 3], [2, 12, 7]
    found = pool_grid(plane, torch.tensor(rows), torch.tensor(columns), (3, 10))
    for at, (row, column) in enumerate(zip(rows, columns, strict=True)):
        assert torch.equal(found[at], functional.adaptive_max_pool2d(plane[at, :, :row, :column], (3, 10)))

"""HAR: attention between words of query and passage, then within sentences and over them (Zhu et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import BothWays, MatcherSizes, masked_softmax, mlp, pair_mask, read_once


class Har(nn.Module):
    """Their sections 3.2 to 3.7, with H `units` in each direction of a GRU.

    Encoder: U^q of the query and U^d of each sentence. Cross attention: S_xy = w · [d_x, q_y, d_x ⊙ q_y]; with its softmax
    over the query's words S̄ and over the sentence's S̿, A = S̄ U^q, B = S̄ S̿ᵀ U^d, and V = [U^d, A, U^d ⊙ A, U^d ⊙ B].
    Inner attention: z^q = Σ a_i u_i with a = softmax(w · tanh(W u_i)); the same over each sentence's V, then over the
    sentences. Score: an MLP of z^q ⊙ z^d, z^d brought to z^q's size by a linear layer.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        width = 2 * sizes.units
        self.query = BothWays(nn.GRU, sizes.dimension, sizes.units)
        self.passage = BothWays(nn.GRU, sizes.dimension, sizes.units)
        self.cross = CrossAttention(width)
        self.of_query = InnerAttention(width, sizes.units)
        self.of_words, self.of_sentences = (
            InnerAttention(4 * width, sizes.units),
            InnerAttention(4 * width, sizes.units),
        )
        self.reduce = nn.Linear(4 * width, width)
        self.score = mlp((width, sizes.units, 1))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        query = read_once(self.query, batch.query_number, batch.query, batch.query_mask)
        words, mask = gather_sentences(batch)
        read = read_once(self._read_sentences, batch.passage_number, words, mask)
        real = mask.any(2)
        owner, read, mask = real.nonzero()[:, 0], read[real], mask[real]
        vectors = self.of_words(self.cross(read, query[owner], mask, batch.query_mask[owner]), mask)
        sentences = vectors.new_zeros(*real.shape, vectors.shape[1]).masked_scatter(real[:, :, None], vectors)
        passage = self.reduce(self.of_sentences(sentences, real))
        return self.score(passage * self.of_query(query, batch.query_mask)).squeeze(1)

    def _read_sentences(self, words: Tensor, mask: Tensor) -> Tensor:
        """(u, s, w, d), (u, s, w) -> (u, s, w, 2 units)."""
        real = mask.any(2)
        read = self.passage(words[real], mask[real])
        return read.new_zeros(*mask.shape, read.shape[2]).masked_scatter(real[:, :, None, None], read)


class CrossAttention(nn.Module):
    """Attention between the words of two texts, in both directions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(width, 1, bias=False), nn.Linear(width, 1, bias=False)
        self.both = nn.Parameter(torch.full((width,), width**-0.5))

    def forward(self, words: Tensor, query: Tensor, mask: Tensor, query_mask: Tensor) -> Tensor:
        """(n, w, h), (n, q, h) -> (n, w, 4 h)."""
        scores = self.one(words) + self.other(query).transpose(1, 2) + (words * self.both) @ query.transpose(1, 2)
        kept = pair_mask(mask, query_mask)
        to_query, to_words = masked_softmax(scores, kept, 2), masked_softmax(scores, kept, 1)
        attended = to_query @ query
        returned = to_query @ (to_words.transpose(1, 2) @ words)
        return torch.cat([words, attended, words * attended, words * returned], 2)


class InnerAttention(nn.Module):
    """A weighted sum of a text's parts, by how important each is in itself."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.weigh = nn.Sequential(nn.Linear(width, units), nn.Tanh(), nn.Linear(units, 1, bias=False))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, w, h), (n, w) -> (n, h)."""
        weights = masked_softmax(self.weigh(values).squeeze(2), mask)
        return (weights[:, :, None] * values).sum(1)


def gather_sentences(batch: MatchBatch) -> tuple[Tensor, Tensor]:
    """The passage's vectors by sentence, (b, s, w, d), and where words are, (b, s, w)."""
    pairs, count, width = batch.sentences.shape
    places = (batch.sentences - 1).clamp(min=0).flatten(1)
    found = batch.passage.gather(1, places[:, :, None].expand(-1, -1, batch.passage.shape[2]))
    mask = batch.sentences > 0
    return found.view(pairs, count, width, -1) * mask[:, :, :, None], mask

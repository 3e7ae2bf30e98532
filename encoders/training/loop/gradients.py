"""The gradients of a batch that does not fit into memory, or that several processes share: those of the whole batch.

Where the loss compares all texts of the batch, a step has two parts (GradCache, Gao et al. 2021, arXiv 2101.06983). The
texts are read in chunks without a graph, and the loss of everything that was read gives the gradients of each text's
representation. Then each chunk is read again, with the same random draws, and its gradients are applied to the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from encoders.training.loop.processes import Processes, pad_rows

T = TypeVar("T")
Representation = tuple[Tensor, ...]
"""What a model reads of n items: tensors (n, ...), of which later dimensions can depend on what is read together."""


class Side(NamedTuple):
    """One of the lists that a batch's loss compares, such as its queries. One that is not `trained` is read just once."""

    items: Sequence[Any]
    read: Callable[[Sequence[Any]], Representation]
    trained: bool = True


class ComparingLoss(Protocol):
    """A loss that depends on a batch only by what the model reads of its sides."""

    def sides(self, batch: Sequence[Any]) -> dict[str, Side]:
        """The sides of a batch, by name."""

    def compare(self, batch: Sequence[Any], found: Mapping[str, Representation]) -> Tensor:
        """The loss (a scalar) of what was read of each side."""


class _Draws(NamedTuple):
    """The states of the random number generators: of the CPU, and of the GPU if there is one."""

    cpu: Tensor
    gpu: Tensor | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Items of a side from place `start` on, and what was read of them, detached; `graph` still has the graph, if kept."""

    items: Sequence[Any]
    start: int
    found: Representation
    draws: _Draws
    graph: Representation | None


def split_gradients(loss: Callable[[Any], Tensor], batch: Sequence[Any], size: int, processes: Processes) -> float:
    """Add the gradients of this process's share of a batch, `size` examples at once (0: all); return its share of the loss.

    For a loss that is a mean over examples.
    """
    total = 0.0
    own = batch[processes.share(len(batch))]
    for part in _chunks(own, size):
        value = loss(part) * (len(part) / len(batch))
        value.backward()  # type: ignore[no-untyped-call]
        total += value.item()
    return total


def cached_gradients(loss: ComparingLoss, batch: Sequence[Any], size: int, processes: Processes) -> float:
    """Add the gradients of this process's share of what is read, `size` items at once (0: all of a side).

    Returns the loss in the first process and 0 in the others.
    """
    sides = loss.sides(batch)
    own = sum(len(side.items[processes.share(len(side.items))]) for side in sides.values())
    keeps = not size or own <= size
    chunks = {name: list(_read(side, size, processes, keeps and side.trained)) for name, side in sides.items()}
    found = {name: _join(chunks[name], processes, side) for name, side in sides.items()}
    value = loss.compare(batch, found)
    wanted = [item for parts in found.values() for item in parts if item.requires_grad]
    # What the loss itself uses of the weights, as the scorer of a poly-encoder, is the same in all processes.
    value.backward(inputs=None if processes.is_first else wanted)  # type: ignore[no-untyped-call]
    for name, side in sides.items():
        for chunk in chunks[name] if side.trained else ():
            _apply(side, chunk, found[name])
    return value.item() if processes.is_first else 0.0


def _read(side: Side, size: int, processes: Processes, keeps_graph: bool) -> Iterator[_Chunk]:
    """Read this process's share of a side in chunks.

    A process without a share reads the first item and keeps nothing of it: it needs to know what the others read.
    """
    share = processes.share(len(side.items))
    own, start = side.items[share], share.start
    for items in _chunks(own or side.items[:1], size):
        draws = _current_draws()
        with torch.set_grad_enabled(keeps_graph and bool(own)):
            read = side.read(items)
        items = items if own else ()
        found = tuple(item.detach()[: len(items)] for item in read)
        yield _Chunk(items, start, found, draws, read if keeps_graph and own else None)
        start += len(items)


def _join(chunks: Sequence[_Chunk], processes: Processes, side: Side) -> Representation:
    """What all processes read of a side, as one tensor each, which collects a gradient if the side is trained."""
    joined = []
    for parts in zip(*(chunk.found for chunk in chunks), strict=True):
        ready = [item.float() if item.is_floating_point() else item for item in parts]
        widest = [max(sizes) for sizes in zip(*(item.shape[1:] for item in ready), strict=True)]
        rows = processes.gather(torch.cat([pad_rows(item, [len(item), *widest]) for item in ready]))
        joined.append(rows.requires_grad_(side.trained and rows.is_floating_point()))
    return tuple(joined)


def _apply(side: Side, chunk: _Chunk, joined: Representation) -> None:
    """Add to the weights what the gradients of a chunk's representations give, reading it again if its graph is gone."""
    if not chunk.items:
        return
    with _same_draws(chunk.draws):
        read = side.read(chunk.items) if chunk.graph is None else chunk.graph
    outputs, gradients = [], []
    for item, whole in zip(read, joined, strict=True):
        if item.requires_grad and whole.grad is not None:
            rows = whole.grad[chunk.start : chunk.start + len(item)]
            outputs.append(item)
            gradients.append(rows[(slice(None), *map(slice, item.shape[1:]))].to(item.dtype))
    if outputs:
        torch.autograd.backward(outputs, gradients)


def _current_draws() -> _Draws:
    gpu = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    return _Draws(torch.get_rng_state(), gpu)


@contextmanager
def _same_draws(draws: _Draws) -> Iterator[None]:
    """Draw in the block what was drawn from `draws` on; afterwards the generators go on as before it."""
    with torch.random.fork_rng([] if draws.gpu is None else [torch.cuda.current_device()]):
        torch.set_rng_state(draws.cpu)
        if draws.gpu is not None:
            torch.cuda.set_rng_state(draws.gpu)
        yield


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Items in runs of `size`, the last one shorter; all at once if `size` is 0."""
    for start in range(0, len(items), size or max(1, len(items))):
        yield items[start : start + size] if size else items

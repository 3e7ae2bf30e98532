"""Several processes that train one model together, each on a GPU of its own or on the CPU, as `torchrun` starts them.

Each computes its share of every batch; gradients are summed, so that a step is that of one process with the whole batch.
Only the first one logs, evaluates and saves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

import torch
from torch import Tensor, distributed
from torch.nn import functional

from mappings.errors import Conflict, InvalidInput, ModelError

T = TypeVar("T")
WAIT: Final = timedelta(days=1)
"""How long a process waits for the others: while the first one asks a teacher or evaluates, they have nothing to do."""
CPU: Final = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run as one of them sees them: `rank` is its number, from 0. By default it is alone."""

    count: int = 1
    rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the process that logs, evaluates and saves."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """The part of `count` things that is this process's; parts differ in length by one at most."""
        return slice(count * self.rank // self.count, count * (self.rank + 1) // self.count)

    def seed(self, seed: int, step: int) -> None:
        """Seed a step's random draws, for each process differently; one that is alone goes on with its generator.

        So a resumption needs no process's generator, whatever their number.
        """
        if self.count > 1:
            name = f"{seed}:{step}:{self.rank}".encode()
            torch.manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))

    def first(self, make: Callable[[], T]) -> T:
        """What `make` returns in the first process, which is the only one that calls it."""
        if self.count == 1:
            return make()
        told = [make() if self.is_first else None]
        with _connected():
            distributed.broadcast_object_list(told, src=0, device=CPU)
        found: Any = told[0]
        return found

    @contextmanager
    def one_then_all(self) -> Iterator[None]:
        """Around what the first process prepares in a file: the others begin when it has ended."""
        if self.count > 1 and not self.is_first:
            self.first(lambda: None)
        yield
        if self.count > 1 and self.is_first:
            self.first(lambda: None)

    def check_same(self, what: str, value: Any) -> None:
        """Raise `Conflict` in all processes unless all have the same `value`."""
        if self.count == 1:
            return
        found: list[Any] = [None] * self.count
        with _connected():
            distributed.all_gather_object(found, value)
        if other := [rank for rank, theirs in enumerate(found) if theirs != found[0]]:
            raise Conflict(
                f"process {other[0]} has another {what} than process 0: start all with the same arguments, files and folder",
                field=what,
            )

    def share_weights(self, model: Any) -> None:
        """Give all processes the first one's weights."""
        if self.count > 1:
            with _connected():
                for value in model.state_dict().values():
                    distributed.broadcast(value, src=0)

    def gather(self, rows: Tensor) -> Tensor:
        """The rows (n, ...) of all processes one after the other, padded with zeros to the widest, without a gradient."""
        if self.count == 1:
            return rows
        size = torch.tensor(rows.shape, device=rows.device)
        with _connected():
            sizes = _gathered(size, self.count)
            padded = pad_rows(rows, torch.stack(sizes).amax(dim=0).tolist())
            found = _gathered(padded.contiguous(), self.count)
        return torch.cat([part[: int(own[0])] for part, own in zip(found, sizes, strict=True)])

    def sum_gradients(self, trained: Sequence[torch.nn.Parameter], loss: float) -> float:
        """Replace the gradients by their sums over all processes, and return that of `loss`.

        A weight without a gradient in any process keeps none: the optimiser leaves it as it is.
        """
        if self.count == 1:
            return loss
        has = torch.tensor([float(item.grad is not None) for item in trained])
        told = torch.cat([torch.tensor([loss]), has]).to(trained[0].device)
        flat = torch.cat([(torch.zeros_like(item) if item.grad is None else item.grad).flatten() for item in trained])
        with _connected():
            distributed.all_reduce(told)
            distributed.all_reduce(flat)
        value, *counts = told.tolist()
        for item, count, summed in zip(trained, counts, flat.split([item.numel() for item in trained]), strict=True):
            item.grad = summed.view_as(item) if count else None
        return float(value)


ALONE: Final = Processes()


@contextmanager
def join_processes(device: str, largest: int) -> Iterator[Processes]:
    """The processes that torchrun's environment variables name, connected during the block; `ALONE` without them.

    `device` is 'cuda' or 'cpu'; each process gets a GPU of its own. Raises `InvalidInput` for variables that make no sense,
    for more processes than GPUs, and for more than the `largest` number that has work.
    """
    found = read_environment(os.environ)
    if found.count == 1:
        yield ALONE
        return
    if found.count > largest:
        raise InvalidInput(
            f"batch is {largest}, and {found.count} processes each need at least one of its examples", field="batch"
        )
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            raise InvalidInput(f"{name} is not set: start several processes by torchrun", field=name)
    if device == "cuda":
        _take_gpu(_read_number(os.environ, "LOCAL_RANK", found.rank))
    with _connected():
        distributed.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo", timeout=WAIT)
    try:
        yield found
    finally:
        distributed.destroy_process_group()


def read_environment(variables: Mapping[str, str]) -> Processes:
    """The processes as `WORLD_SIZE` and `RANK` name them. Raises `InvalidInput` for impossible values."""
    count, rank = _read_number(variables, "WORLD_SIZE", 1), _read_number(variables, "RANK", 0)
    if count < 1:
        raise InvalidInput(f"WORLD_SIZE is {count}; it must be at least 1", field="WORLD_SIZE")
    if not 0 <= rank < count:
        raise InvalidInput(f"RANK is {rank}; of WORLD_SIZE {count} it must be between 0 and {count - 1}", field="RANK")
    return Processes(count, rank)


def pad_rows(rows: Tensor, sizes: Sequence[int]) -> Tensor:
    """Rows (n, ...) with zeros behind them in each dimension up to `sizes`; booleans stay booleans."""
    missing = [wanted - size for size, wanted in zip(rows.shape, sizes, strict=True)]
    return functional.pad(rows, [side for more in reversed(missing) for side in (0, more)]) if any(missing) else rows


def _gathered(value: Tensor, count: int) -> list[Tensor]:
    """A tensor of the same shape from each process; booleans travel as bytes."""
    sent = value.to(torch.uint8) if value.dtype == torch.bool else value
    found = [torch.empty_like(sent) for _ in range(count)]
    distributed.all_gather(found, sent)
    return [item.to(value.dtype) for item in found]


def _read_number(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{name} is {text!r}; torchrun sets it to an integer", field=name) from None


def _take_gpu(number: int) -> None:
    if number >= (gpus := torch.cuda.device_count()):
        raise InvalidInput(
            f"LOCAL_RANK is {number}, and torch finds {gpus} GPUs: start at most one process for each",
            field="LOCAL_RANK",
        )
    torch.cuda.set_device(number)


@contextmanager
def _connected() -> Iterator[None]:
    """Around what needs the other processes: raise `ModelError` if one of them can't be reached."""
    try:
        yield
    except RuntimeError as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ModelError(
            f"another process of this run has ended or can't be reached ({reason}): training stopped; "
            "the same command resumes from the last saved state",
            field="processes",
        ) from None

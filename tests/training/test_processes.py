"""Several processes that train one model: their steps are those of one process, and the death of one ends the others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from process_runs import RUNS, run, run_plain  # noqa: E402
from test_gradients import make_stance  # noqa: E402
from tiny_models import BI, CROSS, write_home  # noqa: E402

from encoders.labels.pairs import write_lines  # noqa: E402
from encoders.training.loop import processes  # noqa: E402
from encoders.training.loop.processes import ALONE, Processes, read_environment  # noqa: E402
from encoders.training.recipe import Share  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import InvalidInput  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
LONG = 500
"""Seconds: each process imports torch, on a machine that others may use."""
ROOT = Path(__file__).parents[2]
NO_GRADIENT = {"classifier.bias", "head.linear.bias"}
"""What adds the same to every candidate of a query: its gradient is a rounding error, which AdamW scales to a step."""
TOGETHER = [name for name in RUNS if name != "with dropout"]


def free_ports(count: int) -> list[str]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(item.getsockname()[1]) for item in held]
    for item in held:
        item.close()
    return ports


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(map(str, (ROOT, Path(__file__).parent)))
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, pairs, and the run of a teacher."""
    home = write_home(tmp_path_factory.mktemp("home"))
    write_lines(home / "pairs/stance-x.jsonl", [make_stance(place) for place in range(16)])
    teacher = replace(CROSS, base=str(home / "bert"), steps=2, tasks={"claim": Share()})
    train(teacher, home / "pairs", home / "cross-run", queries=1)
    return home


@pytest.fixture(scope="module")
def by_two(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `RUNS`, made by two processes."""
    out = tmp_path_factory.mktemp("two")
    ports = free_ports(len(RUNS) + 2)
    command = [sys.executable, str(Path(__file__).parent / "process_runs.py"), str(home), str(out), *ports]
    ranks = [{"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2", "RANK": str(rank)} for rank in range(2)]
    started = [subprocess.Popen(command, env=environment(**rank), stderr=subprocess.PIPE) for rank in ranks]
    said = [item.communicate(timeout=LONG)[1].decode()[-3000:] for item in started]
    assert [item.returncode for item in started] == [0, 0], "\n".join(said)
    return out


def weights(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(run / "state.pt", weights_only=True)["model"]
    return found


def logged(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", TOGETHER)
def test_two_processes_make_the_steps_of_one(name: str, home: Path, by_two: Path, tmp_path: Path) -> None:
    report = run(name, home, tmp_path)
    one, two = weights(tmp_path / name), weights(by_two / name)
    assert one.keys() == two.keys()
    for key in one.keys() - NO_GRADIENT:
        assert torch.allclose(one[key], two[key], atol=2e-5), key
    ours, theirs = logged(tmp_path / name), logged(by_two / name)
    assert theirs[0].pop("processes") == 2
    assert [entry.keys() for entry in ours] == [entry.keys() for entry in theirs]  # nothing is logged twice
    losses = [[entry["loss"] for entry in log if "loss" in entry] for log in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)
    told = json.loads((by_two / name / "report.json").read_text())
    assert told.keys() == report.keys()
    assert (told["pairs"], told["steps"], told["best_step"]) == (
        report["pairs"], report["steps"], report["best_step"],
    )  # fmt: skip
    assert json.loads((by_two / name / "record.json").read_text())["status"] == "finished"


def test_any_loss_that_is_a_mean_over_examples_is_shared(by_two: Path, tmp_path: Path) -> None:
    run_plain(tmp_path)
    one, two = weights(tmp_path), weights(by_two / "plain")
    assert all(torch.allclose(value, two[key], atol=1e-6) for key, value in one.items())
    assert two["spare"].tolist() == [1.0, 1.0]  # not even decayed: it has no gradient in any process


def test_processes_that_were_started_differently_are_refused(by_two: Path) -> None:
    for rank in range(2):
        said = (by_two / f"conflict-{rank}").read_text()
        assert said.startswith("process 1 has another recipe or data than process 0")
    assert not (by_two / "other").exists()


def test_a_run_of_two_goes_on_alone(home: Path, by_two: Path, tmp_path: Path) -> None:
    """How many processes there are is not part of a run's identity."""
    (tmp_path / "contrastive").mkdir()
    (tmp_path / "contrastive/state.pt").write_bytes((by_two / "contrastive/state.pt").read_bytes())
    (tmp_path / "contrastive/best.pt").write_bytes((by_two / "contrastive/best.pt").read_bytes())
    assert (
        run("contrastive", home, tmp_path)["held_out"]
        == json.loads((by_two / "contrastive/report.json").read_text())["held_out"]
    )


def torchrun(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", *free_ports(1)]
    module = ["-m", "web.cli", "train", *map(str, arguments), "--json"]
    return subprocess.Popen(
        [*command, *module], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )


def find_rank(launcher: int, rank: int) -> int:
    """The process id of a rank that torchrun started."""
    children = Path(f"/proc/{launcher}/task").glob("*/children")
    ids = [int(word) for path in children for word in path.read_text().split()]
    return next(item for item in ids if f"\0RANK={rank}\0".encode() in Path(f"/proc/{item}/environ").read_bytes())


def write_recipe(folder: Path, home: Path, **changes: Any) -> Path:
    settings = {"base": str(home / "bert"), "threads": 1, "save_every": 1, "max_length": 78, **changes}
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    path = folder / "tiny.toml"
    path.write_text("\n".join([*lines, "[tasks]", "claim = { repeat = 20 }"]))
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_a_process_that_is_killed_ends_the_others_and_the_run_resumes(home: Path, by_two: Path, tmp_path: Path) -> None:
    settings = {"learning_rate": 2e-3, "batch": 4, "negatives": 1, "frozen": [], "dropout": 0.3}
    recipe = write_recipe(tmp_path, home, kind="bi-encoder", objective="contrastive", **settings)
    began = torchrun(recipe, home / "pairs", tmp_path / "cut")
    state = tmp_path / "cut/state.pt"
    while not state.is_file() and began.poll() is None:
        time.sleep(0.02)
    assert began.poll() is None, began.communicate()
    os.kill(find_rank(began.pid, 1), signal.SIGKILL)
    said = began.communicate(timeout=LONG)[1].decode()
    assert began.returncode != 0, said
    assert 1 <= torch.load(state, weights_only=True)["step"] < 40
    assert not (tmp_path / "cut/report.json").exists()
    again = torchrun(recipe, home / "pairs", tmp_path / "cut")
    told, said = (item.decode() for item in again.communicate(timeout=LONG))
    assert again.returncode == 0, said
    assert json.loads(told)["steps"] == 40  # told once, by the first process
    one, two = weights(by_two / "with dropout"), weights(tmp_path / "cut")
    assert all(torch.equal(value, two[key]) for key, value in one.items())


DIES = """
import os, sys
from encoders.training.loop import optimise
from web.cli.main import main
real = optimise._step
def step(*arguments):
    if arguments[-1] == 3 and os.environ["RANK"] == "1":
        os._exit(9)
    return real(*arguments)
optimise._step = step
main()
"""


def test_the_process_that_stays_says_what_happened(home: Path, tmp_path: Path) -> None:
    """Without torchrun, which ends the others itself."""
    recipe = write_recipe(tmp_path, home, kind="cross-encoder", objective="listwise", batch=2)
    (port,) = free_ports(1)
    command = [sys.executable, "-c", DIES, "train", str(recipe), str(home / "pairs"), str(tmp_path / "run")]
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    started = [
        subprocess.Popen(command, env=environment(**variables, RANK=rank), stderr=subprocess.PIPE, cwd=ROOT)
        for rank in "01"
    ]
    said = [item.communicate(timeout=LONG)[1].decode() for item in started]
    assert [item.returncode for item in started] == [1, 9], said
    assert "another process of this run has ended" in said[0]
    assert "the same command resumes" in said[0]
    assert torch.load(tmp_path / "run/state.pt", weights_only=True)["step"] == 3
    record = json.loads((tmp_path / "run/record.json").read_text())
    assert record["status"] == "failed"
    assert record["cause"].startswith("another process of this run has ended")


@pytest.mark.parametrize(
    ("variables", "field", "said"),
    [
        ({"WORLD_SIZE": "5", "RANK": "0"}, "batch", "batch is 4, and 5 processes each need at least one"),
        ({"WORLD_SIZE": "two", "RANK": "0"}, "WORLD_SIZE", "WORLD_SIZE is 'two'"),
        ({"WORLD_SIZE": "2", "RANK": "2"}, "RANK", "RANK is 2; of WORLD_SIZE 2 it must be between 0 and 1"),
        ({"WORLD_SIZE": "0", "RANK": "0"}, "WORLD_SIZE", "WORLD_SIZE is 0"),
        ({"WORLD_SIZE": "2", "RANK": "0"}, "MASTER_ADDR", "MASTER_ADDR is not set"),
    ],
)
def test_variables_that_make_no_sense_are_named(
    variables: dict[str, str], field: str, said: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    recipe = replace(BI, base=str(home / "bert"), batch=4)
    with pytest.raises(InvalidInput, match=said) as caught:
        train(recipe, home / "pairs", tmp_path / "run")
    assert caught.value.field == field
    assert not (tmp_path / "run").exists()


def test_a_process_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for name, value in {
        "WORLD_SIZE": "2",
        "RANK": "1",
        "LOCAL_RANK": "1",
        "MASTER_ADDR": "a",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(InvalidInput, match="LOCAL_RANK is 1, and torch finds 1 GPUs"),
        processes.join_processes("cuda", 8),
    ):
        pass


@pytest.mark.parametrize(("count", "items"), [(1, 5), (2, 5), (3, 8), (4, 3)])
def test_shares_are_whole_and_even(count: int, items: int) -> None:
    things = list(range(items))
    shares = [things[Processes(count, rank).share(items)] for rank in range(count)]
    assert list(chain.from_iterable(shares)) == things
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_one_process_is_alone() -> None:
    assert read_environment({}) == read_environment({"WORLD_SIZE": "1", "RANK": "0"}) == ALONE
    before = torch.get_rng_state()
    ALONE.seed(3, 4)
    assert torch.equal(torch.get_rng_state(), before)

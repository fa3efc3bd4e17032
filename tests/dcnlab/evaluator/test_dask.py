"""Evaluations on a Dask scheduler with two worker processes give the same figures as locally."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from dcnlab.cli.program import main
from dcnlab.evaluator.evaluate import evaluate
from tests.ovs import poll

Rows = list[dict[str, object]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as started:
        yield started


def dcnlab(*words: str) -> str:
    """The output of a command that runs in this process, whose modules are loaded."""
    out = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setattr(sys, "argv", ["dcnlab", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    return out.getvalue()


def compare(folder: Path, *more: str) -> Rows:
    """`dcnlab compare`, with results in a folder of its own."""
    grid = "--topologies bcube:3,1,torus:3x3 --schemes wmgr,shortest --seeds 2 --failures links=5%"
    return list(json.loads(dcnlab("compare", *grid.split(), "--results", str(folder), "--json", *more)))


@pytest.fixture(scope="module")
def grid(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows]:
    """The grid on Dask, and the folder of its results."""
    folder = tmp_path_factory.mktemp("grid")
    return folder, compare(folder, "--dask", cluster.scheduler_address)


def test_a_grid_on_dask_is_the_grid_on_this_machine(grid: tuple[Path, Rows], tmp_path: Path) -> None:
    _, spread = grid
    alone = compare(tmp_path, "--workers", "1")
    assert len(alone) == 4 * (1 + 2)  # once without failures, and with those of two seeds
    figures = ("topology", "scheme", "seed", "path.mean", "stretch.mean", "table.entries_max")
    assert [[row[key] for key in figures] for row in spread] == [[row[key] for key in figures] for row in alone]


@pytest.mark.parametrize(
    "words",
    [
        "evaluate dcell:4,1 --scheme wmgr,shortest --failures links=10% --metrics bisection --json",
        "evaluate bcube:3,1 --scheme brp,shortest --json",
        "reproduce clot-diameter --json",
    ],
    ids=["pairs", "symmetric", "claims"],
)
def test_a_command_on_dask_prints_what_it_does_here(cluster: LocalCluster, words: str) -> None:
    spread, alone = dcnlab(*words.split(), "--dask", cluster.scheduler_address), dcnlab(*words.split())
    assert json.loads(spread) == json.loads(alone)


def test_a_sweep_on_dask(cluster: LocalCluster, tmp_path: Path) -> None:
    words = ["sweep", "bcube:2,1", "--failures", "links", "--steps", "1", "--seeds", "2", "--json"]
    sweeps = [
        json.loads(dcnlab(*words, "--results", str(tmp_path / name), *more))
        for name, more in (("dask", ("--dask", cluster.scheduler_address)), ("alone", ("--workers", "1")))
    ]
    assert sweeps[0] == sweeps[1]


def test_a_worker_that_is_killed_loses_nothing(cluster: LocalCluster) -> None:
    killed: list[int] = []

    def kill(phase: str, share: float | None) -> None:
        if share and not killed:
            killed.append(cluster.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    asked: dict[str, Any] = {"topology": "random:300,4,hosts=0", "schemes": ["tz"], "pairs": "sample:5000"}
    with Client(cluster.scheduler_address) as client:
        report = evaluate(**asked, executor=client.get_executor(), shares=40, progress=kill)
    assert killed
    assert report.as_dict() == evaluate(**asked).as_dict()


def test_an_interrupt_leaves_nothing_to_do(cluster: LocalCluster) -> None:
    words = ["evaluate", "random:3000,6,hosts=0", "--scheme", "tz", "--failures", "links=5%", "--dask"]
    with Client(cluster.scheduler_address) as client:
        command = subprocess.Popen(  # tests in the background ignore it, and so would their children
            [sys.executable, "-m", "dcnlab.cli", *words, cluster.scheduler_address],
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        poll(lambda: tasks(client) > 0, 60)
        command.send_signal(signal.SIGINT)
        assert command.wait(60) == 130
        poll(lambda: tasks(client) == 0, 60)


def tasks(client: Client) -> int:
    """How many tasks the scheduler has."""
    return int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_a_grid_resumes_where_it_stopped(
    cluster: LocalCluster, grid: tuple[Path, Rows], tmp_path: Path
) -> None:
    folder, first = grid
    lines = (folder / "results.jsonl").read_text().splitlines()
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:3]) + "\n")
    assert compare(tmp_path, "--dask", cluster.scheduler_address) == first
    assert (tmp_path / "results.jsonl").read_text().splitlines()[:3] == lines[:3]

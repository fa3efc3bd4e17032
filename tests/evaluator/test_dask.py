"""A grid on a Dask scheduler with two worker processes gives the same figures as locally."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from distributed import LocalCluster


def compare(folder: Path, *more: str) -> list[dict[str, object]]:
    """Run `dcnlab compare` as a user does, in its own folder."""
    grid = "--topologies bcube:3,1,torus:3x3 --schemes wmgr,shortest --seeds 2 --failures links=5%"
    words = ["compare", *grid.split()]
    done = subprocess.run(
        [sys.executable, "-m", "dcnlab.cli", *words, "--results", str(folder), "--json", *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_a_grid_on_dask_is_the_grid_on_this_machine(tmp_path: Path) -> None:
    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        spread = compare(tmp_path / "dask", "--dask", cluster.scheduler_address)
    alone = compare(tmp_path / "alone")
    assert len(alone) == 4 * (1 + 2)  # once without failures, and with those of two seeds
    figures = ("topology", "scheme", "seed", "path.mean", "stretch.mean", "table.entries_max")
    assert [[row[key] for key in figures] for row in spread] == [[row[key] for key in figures] for row in alone]


def test_a_grid_resumes_where_it_stopped(tmp_path: Path) -> None:
    first = compare(tmp_path)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:3]) + "\n")
    assert compare(tmp_path) == first
    assert (tmp_path / "results.jsonl").read_text().splitlines()[:3] == lines[:3]

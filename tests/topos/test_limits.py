"""Files that are too large, nested too deeply, or stand for too much: one line, little memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: Bytes of address space with which a command must manage; numpy and its threads take most of it.
MEMORY = 2_000_000_000
_LAUGHS = "\n".join(
    ["a0: &a0 [lol, lol]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
)
_XML = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
GRAPH = "nodes: [{name: %s}]\nlinks: []\n"


def sparse(size: int) -> Callable[[Path], object]:
    """Writes a file of so many bytes, which takes no room on the disk."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return write


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


GRAPHS = {
    "large.json": (sparse(100_000_000), "larger than 64 MB"),
    "large.graphml": (sparse(100_000_000), "larger than 64 MB"),
    "large.gml": (sparse(100_000_000), "larger than 64 MB"),
    "large.edgelist": (sparse(100_000_000), "larger than 64 MB"),
    "large.yaml": (sparse(5_000_000), "larger than 4 MB"),
    "folder.json": (Path.mkdir, "Is a directory"),
    "pipe.json": (os.mkfifo, "not a regular file"),
    "deep.json": (text("[" * 1_000_000), "nested too deeply"),
    "deep.yaml": (text("[" * 100_000), "nested more than 100 deep"),
    "lists.yaml": (text("- " * 100_000), "nested more than 100 deep"),
    "deep.dot": (text("graph {" + "{" * 100_000), ""),
    "deep.gml": (text("graph [" * 100_000), ""),
    "nested.json": (text('{"nodes": ' + "[" * 200 + "]" * 200 + "}"), "more than 100 deep"),
    "aliases.yaml": (text(_LAUGHS + "\n" + GRAPH % "*a11"), "stands for more than 2,000,000 values"),
    "cycle.yaml": (text("a: &a [*a]\n" + GRAPH % "*a"), "an alias stands for what contains it"),
    "entities.graphml": (
        text(f'<!DOCTYPE x [<!ENTITY a0 "lol">{_XML}]><graphml>&a11;</graphml>'),
        "declares XML entities",
    ),
}
SCENARIOS = {
    "large.yaml": (sparse(100_000_000), "larger than 1 MB"),
    "deep.yaml": (text("topology: " + "[" * 100_000), "nested more than 100 deep"),
    "aliases.yaml": (text(f"{_LAUGHS}\ntopology: *a11\nscheme: brp\n"), "stands for more than"),
    "cycle.yaml": (text("topology: &a [*a]\nscheme: brp\n"), "topology: must be text"),
}


def refused(folder: Path, *words: str) -> str:
    """The one line with which a command refuses its file, with bounded memory."""
    command = [sys.executable, "-m", "dcnlab.cli", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    write, reason = GRAPHS[name]
    write(tmp_path / name)
    assert reason in refused(tmp_path, "topology", f"file:{name}")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    write, reason = SCENARIOS[name]
    write(tmp_path / name)
    assert reason in refused(tmp_path, "run", name)

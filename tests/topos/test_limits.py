"""Files that are too large, nested too deeply, or stand for too much: one line, little memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from dcnlab.cli import program

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
    "billions.s6": (lambda path: path.write_bytes(b":~~~~~~~~A_"), "states 68,719,476,735 nodes"),
    "packed.json.gz": (lambda path: path.write_bytes(gzip.compress(bytes(100_000_000))), "larger than 64 MB"),
    "packed.gml.bz2": (lambda path: path.write_bytes(bz2.compress(bytes(100_000_000))), "larger than 64 MB"),
    "cut.json.gz": (lambda path: path.write_bytes(gzip.compress(b"{}" * 99)[:-9]), "cannot be read as json"),
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


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int | None, str]]:
    """How the commands end, and their standard errors, by command line: each in a child of one process that
    has imported the program, with bounded memory."""
    folder, lines = tmp_path_factory.mktemp("files"), []
    for command, files in (("topology", GRAPHS), ("run", SCENARIOS)):
        (folder / command).mkdir()
        for name, (write, _) in files.items():
            write(folder / command / name)
            lines.append(line(command, name))
    done = subprocess.run(
        [sys.executable, "-m", "tests.topos.test_limits", str(folder)],
        input=json.dumps(lines), cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(map(" ".join, lines), json.loads(done.stdout), strict=True))


def line(command: str, name: str) -> list[str]:
    """The command line for a file."""
    return [command, f"{'file:' * (command == 'topology')}{command}/{name}"]


def refused(refusals: dict[str, tuple[int | None, str]], command: str, name: str) -> str:
    """The one line with which a command has refused a file."""
    code, errors = refusals[" ".join(line(command, name))]
    assert code == 2, errors
    (error,) = errors.splitlines()
    return error


def run_each(folder: str, lines: list[list[str]]) -> None:
    """Run command lines in children; print how each ends, and its standard error."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for command in ("topology", "run"):  # the children then have what they import
        sys.argv = ["dcnlab", *line(command, "missing.yaml")]
        with contextlib.suppress(SystemExit):
            program.main()
    outcomes = []
    for words in lines:
        with tempfile.TemporaryFile("w+") as errors:
            child = multiprocessing.get_context("fork").Process(target=run, args=(words, errors))
            child.start()
            child.join(300)
            child.kill()
            child.join()
            errors.seek(0)
            outcomes.append((child.exitcode, errors.read()))
    print(json.dumps(outcomes))


def run(words: list[str], errors: TextIO) -> None:
    """Run a command line; its standard error goes to a file."""
    os.dup2(errors.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["dcnlab", *words]
    program.main()


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_file_is_refused_in_one_line(refusals: dict[str, tuple[int | None, str]], name: str) -> None:
    assert GRAPHS[name][1] in refused(refusals, "topology", name)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_refused_in_one_line(refusals: dict[str, tuple[int | None, str]], name: str) -> None:
    assert SCENARIOS[name][1] in refused(refusals, "run", name)


if __name__ == "__main__":
    run_each(sys.argv[1], json.load(sys.stdin))

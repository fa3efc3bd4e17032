"""Command lines of ``dcnlab`` where its processes are not what is tested: most of a process is its imports."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess, run

from dcnlab.cli import program, show


def dcnlab(*words: str | Path) -> CompletedProcess[str]:
    """What a command line prints and ends with, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    line = list(map(str, words))
    before, sys.argv, show.StdoutState.json = sys.argv, ["dcnlab", *line], False
    try:
        with redirect_stdout(out), redirect_stderr(err):
            program.main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    assert code is None or isinstance(code, int), code
    return CompletedProcess(line, code or 0, out.getvalue(), err.getvalue())


def each_alone(folder: Path, *lines: Sequence[str]) -> list[CompletedProcess[str]]:
    """The same, each in a process of its own that begins in that folder: what it loads, others do not have.

    They are children of one process that has imported the program.
    """
    done = run(
        [sys.executable, "-m", "tests.lab.lines", str(folder)],
        input=json.dumps(lines), capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return [CompletedProcess(*found) for found in json.loads(done.stdout)]


def _alone(folder: str, line: Sequence[str]) -> tuple[Sequence[str], int, str, str]:
    """Run a line in a child."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.chdir(folder)
            done = dcnlab(*line)
            with open(write, "w") as pipe:
                json.dump([done.returncode, done.stdout, done.stderr], pipe)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(write)
    with open(read) as pipe:
        code, out, err = json.load(pipe)
    os.waitpid(child, 0)
    return line, code, out, err


if __name__ == "__main__":
    print(json.dumps([_alone(sys.argv[1], line) for line in json.load(sys.stdin)]))

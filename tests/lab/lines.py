"""Command lines of ``dcnlab`` where its processes are not what is tested: most of a process is its imports."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

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


def alone(programs: Path, folder: Path, *words: str | Path) -> CompletedProcess[str]:
    """The same in a process of its own (:mod:`tests.lab.forked`), which begins in that folder."""
    line = [programs / "dcnlab", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)

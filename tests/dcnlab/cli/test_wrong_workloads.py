"""What people mistype about sweeps, workloads, chaos, pictures and the course: one line, exit code 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from dcnlab.cli import show
from dcnlab.cli.program import main

WRONG = {
    "evaluate bcube:2,1 --scheme brp --metrics fct --sizes banana": "neither a distribution nor a file",
    f"evaluate bcube:2,1 --scheme brp --metrics fct --sizes {'9' * 400}": "neither a distribution nor a file",
    f"evaluate bcube:2,1 --scheme brp --metrics fct --traffic {'9' * 400}": "unknown traffic",
    "chaos bcube:2,1 --scheme brp --for 0": "longer than 0",
    "chaos bcube:2,1 --scheme brp --for 1e9m": "must be a time",
    "chaos bcube:2,1 --scheme brp --save /tmp": "is a folder",
    "draw bcube:2,1 -o x.jpg": ".svg, .pdf, .png or .html",
    "draw bcube:2,1 -o x.svg --scheme brp": "belong together",
    "grade .": "it has no exercise.yaml",
    "course banana": "no exercise is named banana",
    "course failures --to /tmp": "exists already",
    "traffic nolab banana": "unknown traffic 'banana'",
    "traffic nolab permutation --load 1 --count 2": "not both",
    "run bcube-cut --matrix banana": "KEY=VALUE",
    "run bcube-cut --matrix banana=1": "banana is neither",
    "run bcube-cut --matrix seed=banana": "options.seed: must be a whole number, not 'banana'",
    "run bcube-cut --matrix seed=[1]": "options.seed: must be a whole number, not a list",
    "run bcube-cut --matrix seed=1.5": "options.seed: must be a whole number, not 1.5",
    "run bcube-cut --matrix title={": "cannot read the value '{'",
    "run bcube-cut --matrix traffic.9.for=1s": "there is no 9",
    "run bcube-cut --matrix traffic.3.seed=x": "traffic[3].seed: unknown key",
    "run bcube-cut --repeat 2 --results /etc/passwd": "is a file",
}


@pytest.mark.parametrize("line", list(WRONG))
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["dcnlab", *shlex.split(line)])
    show.StdoutState.json = False
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert end.value.code == 2, said.err
    assert said.err.startswith("dcnlab: ")
    assert WRONG[line] in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""

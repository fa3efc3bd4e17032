"""What people mistype: one line that says what is wrong, exit code 2 (1 where it might have been right)."""

from __future__ import annotations

import inspect
import json
import shlex
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dcnlab.cli import loading, show
from dcnlab.cli.app import app
from dcnlab.cli.program import main
from tests.lab.shared import on_shared_lab

if TYPE_CHECKING:
    from dcnlab.lab.client import Lab


@dataclass(frozen=True)
class Said:
    """What a command ended with."""

    code: int | str | None
    out: str
    err: str


Run = Callable[[str], Said]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``dcnlab`` with a line of words in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def said(line: str) -> Said:
        show.StdoutState.json = False
        monkeypatch.setattr("sys.argv", ["dcnlab", *shlex.split(line)])
        with pytest.raises(SystemExit) as end:
            main()
        return Said(end.value.code, *capsys.readouterr())

    return said


WRONG = {
    "up file:/nonexistent.json": "No such file",
    "up file:/etc": "unknown kind of file",
    "up ''": "unknown topology ''",
    "up bcube:4,-1": "k must be at least 0",
    "up bcube:four,1": "must be a whole number, not 'four'",
    "up bcube:1000000000000,1": "more than can be numbered",
    "up bcube:4,1 --scheme ''": "unknown scheme ''",
    "up bcube:4,1 --scheme brp:zz=1": "no parameter 'zz'",
    "up bcube:4,1 --scheme brp --load-balance probe": "no parallel paths to probe",
    "up bcube:4,1 --scheme brp --multipath 0": "--multipath",
    "up bcube:4,1 --scheme wmgr --buffers 4": "set rate",
    "up bcube:4,1 --scheme brp --rate 0Mbit": "a rate of 0",
    "up bcube:4,1 --scheme brp --rate fast": "as in 100Mbit",
    "up bcube:4,1 --scheme brp -d --test pingall": "use one of them",
    "up bcube:4,1 --scheme brp --test nothing": "'pingall', 'pingpairs', 'iperf'",
    "up clot:4x4 --scheme pow --autoconfigure --miswire h3:99,h7:1": "no torus link at port 99",
    "up smallworld:4x4,q=1e999": "q must be",
    "topology hypercube:60": "at most 22",
    "topology smallworld:4x4,links=99999999999": "at most 65536",
    "topology smallworld:4x4,q=1e300": "at most 100",
    "path bcube:4,1 --scheme brp h0 s1": "s1 is a switch",
    "path bcube:4,1 --scheme brp 10.0.0.999 h1": "not an IPv4 address",
    "tables bcube:4,1 s99 --scheme brp": "no node 's99'",
    "explain bcube:4,1 h0 h99 --scheme brp": "no node 'h99'",
    "paths bcube:4,1 h0 h0": "two different",
    "cost bcube:4,1 --prices /nonexistent": "No such file",
    "cost bcube:4,1 --prices /etc/passwd": "/etc/passwd",
    "down": "name a lab",
    "ping nolab h0": "name two servers",
    "view nolab --port 99999": "--port",
    "capture nolab h0 --json": "add -w FILE.pcap",
    "evaluate bcube:4,1 --scheme nosuch": "unknown scheme 'nosuch'",
    "evaluate bcube:4,1 --scheme brp --seed -1": "--seed",
    "evaluate bcube:4,1 --scheme brp --pairs sample:-4": "sample:N",
    "evaluate bcube:4,1 --scheme brp --pairs from:h99": "no node 'h99'",
    "evaluate bcube:4,1 --scheme brp --failures links=500%": "out of range",
    "evaluate bcube:4,1 --scheme brp --metrics banana": "unknown metric 'banana'",
    "evaluate bcube:4,1 --scheme brp --traffic foo": "unknown traffic 'foo'",
    "evaluate bcube:4,1 --scheme wmgr:root=99": "no node '99'",
    "evaluate bcube:4,1 --scheme ksp:k=99999999999999999999": "at most 4096",
    "evaluate bcube:4,1 --scheme brp --pairs all:": "sample:N",
    "evaluate bcube:4,1 --scheme brp --load 1e300": "from 1e-06 to 100",
    "evaluate bcube:4,1 --scheme brp --seed 9223372036854775808": "--seed",
    "evaluate bcube:4,1 --scheme brp --failures links=5%,links=50%": "links is given twice",
    "compare --topologies bcube:2,1 --schemes brp --traffic foo": "unknown traffic 'foo'",
    "compare --topologies bcube:2,1 --schemes brp --pairs foo": "sample:N",
    "compare --topologies bcube:2,1 --schemes brp --loads ''": "--loads takes numbers",
    "compare --topologies bcube:2,1 --schemes brp --seeds 99999999999999999999": "seeds",
    "compare --topologies bcube:2,1 --schemes brp --dask foo": "no Dask scheduler answers at foo",
    "compare --topologies bcube:2,1 --schemes nosuch": "unknown scheme 'nosuch'",
    "compare --topologies '' --schemes brp": "none of these",
    "compare --topologies bcube:2,1 --schemes brp --results /etc/passwd": "is a file",
    "compare --topologies bcube:2,1 --schemes brp --csv /etc/passwd/a/x.csv": "/etc/passwd is a file",
    "compare --topologies bcube:2,1 --schemes brp --report /tmp": "is a folder",
    "sweep bcube:2,1 --to 200%": "below 100",
    "sweep bcube:2,1 --scheme nosuch": "unknown scheme 'nosuch'",
    "sweep bcube:2,1 --scheme brp --figure x.banana": ".png, .pdf, .pgf or .svg",
    "throughput bcube:2,1 --scheme brp --traffic banana": "unknown traffic",
    "throughput bcube:2,1 --scheme brp --capacity 1e300": "--capacity",
    "throughput bcube:2,1 --scheme brp --capacity 0": "--capacity",
    "throughput bcube:2,1 --scheme brp --capacity nan": "--capacity",
    "throughput bcube:2,1 --scheme brp --traffic local:group=99999999999999999999": "cannot read 'group=9",
    "throughput bcube:2,1 --scheme brp --traffic stride:by=1,by=2": "by is given twice",
    "throughput bcube:2,1 --scheme brp --on-off sigma=1e300": "sigma from 0 to 4",
    "throughput bcube:2,1 --scheme brp --on-off samples=1.5": "samples from 1 to 100000",
    "throughput bcube:2,1 --scheme brp --on-off on=1e-9,off=1e-9": "more than 1e+06 times on and off",
    "throughput bcube:2,1 --scheme brp --on-off on=1,on=2": "on is given twice",
    "complete-graph bcube:4,1 h0 h1 --budget nan": "--budget",
    "complete-graph bcube:4,1 h0 h1 --budget -1": "--budget",
    "automaton star:4 --order search --seconds inf": "--seconds",
    f"borel-search --budget {'9' * 400}s": "at most 1e+06 s",
    "label bcube:4,1 --jitter inf": "--jitter",
    "reproduce nosuch": "unknown experiment",
    "run /nonexistent.yaml": "No such file",
    "run /dev/null": "topology: and scheme:",
    "automaton dcell:3,1": "no known Cayley graph",
    "automaton star:4 --order search --seconds -1": "--seconds",
    "aacm torus:4x4 --miswire h0:1": "two different ports",
    "label bcube:4,1 --cut banana": "link:h0-s1 or node:s3",
    "borel-search --budget banana": "must be a time",
    "overload clot:4x4 --target h99 --offline": "no node 'h99'",
    "kv nolab put": "write put KEY VALUE",
    "list --banana": "--banana",
}


@pytest.mark.parametrize("line", list(WRONG))
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(line: str, run: Run) -> None:
    said = run(line)
    assert said.code == 2, said.err
    assert said.err.startswith("dcnlab: ")
    assert WRONG[line] in said.err
    assert len(said.err.splitlines()) == 1
    if "--json" not in line:
        assert said.out == ""


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("path bcube:4,1 --scheme brp h0 h99 --json", 2, "no node 'h99'"),
        ("up bcube:1,1 --json", 2, "n must be at least 2"),
        ("evaluate bcube:4,1 --scheme brp --seed x --json", 2, "--seed"),
        ("compare --topologies bcube:2,1 --schemes wmgr --metrics nope --json", 2, "unknown column 'nope'"),
        ("ping nolab --json", 1, "there is no lab named"),
        ("stats nolab --json", 1, "there is no lab named"),
        ("fail nolab link h0 s0 --json", 1, "there is no lab named"),
        ("down nolab --json", 1, "no lab named nolab"),
        ("run /nonexistent.yaml --json", 2, "No such file"),
        ("reproduce nosuch --json", 2, "unknown experiment"),
    ],
)
def test_who_asks_for_json_gets_errors_as_json_too(line: str, code: int, says: str, run: Run) -> None:
    said = run(line)
    answer = json.loads(said.out)
    assert said.code == answer["exit"] == code
    assert says in answer["error"]
    assert said.err == f"dcnlab: {answer['error']}\n"


PRINTS_JSON = {
    "deadlock": "bcube:2,1 --scheme brp",
    "verify": "bcube:2,1 --scheme brp",
    "list": "",
    "topology": "bcube:2,1",
    "path": "bcube:2,1 --scheme brp h0 h3",
    "paths": "bcube:2,1 h0 h3",
    "complete-graph": "bcube:4,1 h0",
    "explain": "bcube:2,1 --scheme brp h0 h3",
    "tables": "bcube:2,1 --scheme brp s0",
    "evaluate": "bcube:2,1 --scheme brp --failures servers=4",
    "compare": "--topologies bcube:2,1 --schemes brp --workers 1",
    "sweep": "bcube:2,1 --scheme brp --steps 1 --seeds 1 --workers 1",
    "throughput": "bcube:2,1 --scheme brp --failures links=99%",
    "course": "",
    "draw": "bcube:2,1 --output picture.svg",
    "schema": "",
    "reproduce": "",
    "automaton": "star:3",
    "aacm": "torus:3x3",
    "label": "bcube:2,1",
    "cost": "bcube:2,1",
    "size": "--servers 16 bcube",
    "borel-search": "--diameter 2 --budget 10ms",
    "overload": "clot:2x2 --offline --frames 5",
    "doctor": "",
    "machines": "init --folder certificates",
    "ps": "",
}
#: What needs a lab, which the tests of each ask for JSON.
IN_A_LAB = {
    "up", "ping", "fail", "heal", "impair", "restore", "stats", "down", "run", "demo", "capture", "view", "kv",
    "iperf", "info", "next-hops", "replicate", "reconfigure", "logs", "stream", "counters", "mptcp",
    "trace", "traceroute", "check", "exec",
    "add", "api", "attach", "detach", "remove", "events", "flows", "kill", "metrics", "pause", "plan", "replay",
    "restart", "mn-file", "top", "invariants", "chaos", "grade", "overruns", "buffers", "services", "traffic",
}  # fmt: skip


@pytest.mark.parametrize("command", list(PRINTS_JSON))
def test_json_is_one_value_whatever_is_found(command: str, run: Run) -> None:
    said = run(f"{command} {PRINTS_JSON[command]} --json")
    assert said.code in (0, 1), said.err
    assert isinstance(json.loads(said.out, parse_constant=pytest.fail), dict | list)


@pytest.mark.parametrize("price", [".inf", ".nan", "1e300"])
def test_prices_are_numbers_that_can_be_added_up(price: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        f"switches: {{4: {{price: 1, watts: 1}}}}\nnics: {{2: {{price: {price}, watts: 1}}}}\n"
    )
    said = run("cost bcube:2,1 --prices p.yaml")
    assert said.code == 2
    assert "nics.2.price: Input should be" in said.err


def test_what_is_named_twice_is_evaluated_once(run: Run) -> None:
    said = run("evaluate bcube:2,1 --scheme brp,brp --metrics bisection,bisection --json")
    assert [scheme["scheme"] for scheme in json.loads(said.out)["schemes"]] == ["brp"]


def test_every_command_can_print_json(run: Run) -> None:
    loading.load_all()
    able = {
        command.name: "json" in inspect.signature(command.callback).parameters
        for command in app.registered_commands
        if command.callback is not None
    }
    assert {name for name, can in able.items() if not can} == {"dissector"}  # which prints others' text
    assert {name for name, can in able.items() if can} == PRINTS_JSON.keys() | IN_A_LAB


def test_json_of_a_program_is_none_of_ours(run: Run) -> None:
    said = run("exec nolab h0 ip --json")
    assert (said.code, said.out) == (1, "")
    said = run("exec --json nolab h0 ip")
    assert (said.code, json.loads(said.out)["exit"]) == (1, 1)


def test_numbers_that_json_does_not_know_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_json({"rates": [1.5, float("nan")], "most": (float("inf"),)})
    assert json.loads(capsys.readouterr().out) == {"rates": [1.5, None], "most": [None]}


def test_a_figure_that_nobody_has_is_named(run: Run) -> None:
    said = run("compare --topologies bcube:2,1 --schemes brp --metrics delivered,banana --workers 1")
    assert said.code == 2
    assert "'banana'" in said.err
    assert "delivered" in said.err


@pytest.mark.lab
@on_shared_lab
def test_a_port_that_is_in_use_and_one_server_twice(run: Run, lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        name = lab.config.name
        said = run(f"view {name} --port {taken.getsockname()[1]}")
        assert (said.code, len(said.err.splitlines())) == (2, 1)
        assert "choose another --port" in said.err
        said = run(f"iperf {name} h0 h0 --json")
        assert said.code == 2
        assert json.loads(said.out)["error"] == "name two different servers"

"""The command line without a lab: results, and one line with exit code 2 for bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from addressing import registry as schemes
from dcnlab.cli import show
from dcnlab.cli.commands import topology
from dcnlab.cli.program import main
from dcnlab.lab.emulation.links import delays, shaping
from dcnlab.lab.emulation.links.shaping import check_kernel
from dcnlab.lab.emulation.machine.kernel import has_qdisc
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.link_shape import Shape
from tests.lab.lines import dcnlab
from topos import registry


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("up", "bcub:4,1"), "did you mean bcube"),
        (("up", "bcube:4,1", "--scheme", "bpr"), "did you mean brp?"),
        (("up", "bcube:4,1", "--test", "foo"), "for '--test': 'foo' is not one of 'pingall',"),
        (("up", "bcube:1,1", "--scheme", "brp"), "n must be at least 2"),
        (("up", "bcube:4", "--scheme", "brp"), "needs k"),
        (("up", "bcube:0,1", "--scheme", "brp"), "n must be at least 2"),
        (("up", "novacube:3x3", "--scheme", "pow"), "every radix must be even"),
        (("up", "bcube:4,1", "--scheme", "pow"), "these do: "),
        (("up", "torus:200x200x10", "--scheme", "wmgr"), "needs about"),
        (("up", "bcube:4,1", "--scheme", "brp", "--name", "no/name"), "is not a valid lab name"),
        (("up", "bcube:4,1", "--scheme", "brp", "--delay", "fast"), "as in 1ms"),
        (("up", "fattree:4", "--scheme", "ecmp", "--multipath", "2"), "(brp, dcube-shortest), not ecmp"),
        (("up", "fattree:4", "--scheme", "ecmp", "--link-state", "agents"), "relay nothing"),
        (("up",), "TOPOLOGY"),
        (("frobnicate",), "frobnicate"),
        (("path", "bcube:4,1", "--scheme", "brp", "h0", "h99"), "no node 'h99'"),
        (("tables", "nolab", "s0"), "no running lab"),
        (("topology", "torus:100x100x100", "--format", "dot"), "only --json and the list write more"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["dcnlab", *words])
    show.StdoutState.json = False
    with pytest.raises(SystemExit) as end:
        main()
    stdout, stderr = capsys.readouterr()
    assert end.value.code == 2
    assert stdout == ""
    assert says in stderr
    assert len(stderr.strip().splitlines()) == 1


def test_bad_input_to_a_process() -> None:
    words = [sys.executable, "-m", "dcnlab.cli", "up", "bcub:4,1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean bcube" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_lab_that_does_not_exist() -> None:
    done = dcnlab("exec", "nosuchlab", "h0", "true")
    assert done.returncode == 1
    assert "there is no lab named" in done.stderr


def test_list_names_everything_in_the_registries() -> None:
    answer = json.loads(dcnlab("list", "--json").stdout)
    assert {t["name"] for t in answer["topologies"]} == set(registry.known())
    assert {s["name"] for s in answer["schemes"]} == set(schemes.known())
    assert all(t["schemes"] for t in answer["topologies"])


def test_topology_prints_nodes_ports_and_links() -> None:
    answer = json.loads(dcnlab("topology", "bcube:2,1", "--json").stdout)
    assert [n["name"] for n in answer["nodes"]] == ["h0", "h1", "h2", "h3", "s0", "s1", "s2", "s3"]
    assert answer["links"][0] == {"a": "h0", "a_port": 1, "b": "s0", "b_port": 1}
    assert len(answer["links"]) == 8


def test_a_long_list_has_the_lines_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    short = dcnlab("topology", "bcube:4,1").stdout
    monkeypatch.setattr(topology, "_MOST_IN_TABLE", 8)
    at_length = dcnlab("topology", "bcube:4,1").stdout
    assert [line.split() for line in at_length.splitlines()] == [line.split() for line in short.splitlines()]


def test_path_prints_nodes_and_reasons() -> None:
    answer = json.loads(dcnlab("path", "bcube:4,1", "--scheme", "brp", "h0", "h15", "--json").stdout)
    assert answer["path"] == ["h0", "s4", "h12", "s3", "h15"]
    assert len(answer["reasons"]) == 5


def test_tables_of_a_topology() -> None:
    answer = json.loads(dcnlab("tables", "bcube:4,1", "s0", "--scheme", "wmgr", "--json").stdout)
    assert len(answer["predicted"]) == 5
    assert answer["installed"] is None


def test_delay_is_refused_where_nothing_can_impose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    if has_qdisc("netem", "delay", "1ms") or not delays.problem():
        check_kernel(Shape(delay="1ms"))
    monkeypatch.setattr(shaping, "has_netem", lambda: False)
    monkeypatch.setattr(delays, "problem", lambda: "no cls_bpf or act_mirred")
    with pytest.raises(
        OptionError, match=r"no netem, so delay cannot be imposed \(no cls_bpf or act_mirred\): load"
    ):
        check_kernel(Shape(delay="1ms"))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("up bc", "bcube:4,1"), ("path bcube:4,1 --scheme wm", "wmgr-cayley"), ("ev", "evaluate")],
)
def test_the_shell_completes(typed: str, offered: str) -> None:
    words = f"dcnlab {typed}"
    environment = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "_DCNLAB_COMPLETE": "complete_bash",
    }
    program = Path(sys.executable).parent / "dcnlab"
    done = subprocess.run(
        [program], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert offered in done.stdout.splitlines()

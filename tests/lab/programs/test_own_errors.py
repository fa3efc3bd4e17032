"""Errors in a scheme or topology of the user's are one line with file and line, wherever their code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from tests.lab.lines import alone
from tests.ovs import poll
from topos import plugins

CONTRIBUTING = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
#: The examples of CONTRIBUTING.md: a topology, ring, and a scheme, roundabout.
RING, ROUNDABOUT = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL)[:2]
#: In place of a line of them: an error, the line number, and what is said.
RULE = "        return Forward(1 if ahead <= self.fabric.servers // 2 else 2)\n"
FIND = "        return label if label < self.fabric.servers else None\n"
COUNTS = "        return self.n, 0\n"
AHEAD = "        ahead = (vertex - at) % self.fabric.servers\n"


def line_of(text: str, wanted: str) -> int:
    return text[: text.index(wanted)].count("\n") + 1


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (RULE, "        return Forwrd(1)\n", "NameError: name 'Forwrd' is not defined"),
        (RULE, "        return Forward(1 + at // 0)\n", "ZeroDivisionError: "),
        (FIND, "        return labl\n", "NameError: name 'labl' is not defined"),
        (COUNTS, "        return self.m, 0\n", "AttributeError: 'Ring' object has no attribute 'm'"),
        (
            RULE,
            "        return Forward(7)\n",
            "Roundabout: a packet from h0 to h1 is to leave h0 by port 7, which h0 does not have",
        ),
        (
            RULE,
            "        return Forward(1 if at % 2 else 2)\n",
            "Roundabout: a packet from h0 to h1 loops: h0 h5 h0 h5 h0 h5 ...",
        ),
        (
            RULE,
            "        return 1\n",
            "Roundabout: a packet from h0 to h1 meets 1 at h0, which is neither Forward, Deliver nor Drop",
        ),
    ],
)
def test_a_lab_with_an_error_of_the_users_is_refused_in_one_line(
    programs: Path, tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    file, text = ("ring.py", RING) if right in RING else ("roundabout.py", ROUNDABOUT)
    for name, content in (("ring.py", RING), ("roundabout.py", ROUNDABOUT)):
        (tmp_path / name).write_text(content.replace(right, wrong))
    done = alone(
        programs, tmp_path, "up", "ring:6", "--scheme", "roundabout",
        "--custom", "ring.py", "--custom", "roundabout.py", "--test", "pingall",
    )  # fmt: skip
    assert done.returncode == 2
    if "Roundabout: " in says:  # nothing was raised: the rule is named
        right = "    def rule("
    assert (
        done.stderr
        == f"dcnlab: {tmp_path / file}, line {line_of(text, right)}: " + done.stderr[done.stderr.index(says) :]
    )


#: A scheme that fails at agents, or at switches, once a link is down.
LATE = """\
from dataclasses import dataclass
from typing import ClassVar

from addressing.schemes.shortest import Shortest

@dataclass(frozen=True)
class Late(Shortest):
    name: ClassVar[str] = "late-{where}"
    summary: ClassVar[str] = "it fails late"
    source: ClassVar[str] = "this test"

    def {method}:
        if self.known.down and (at < self.fabric.servers) == {at_servers}:
            return undefined
        return super().{call}
"""


@pytest.mark.lab
@pytest.mark.parametrize(
    ("where", "method", "call"),
    [
        ("agents", "next_hops(self, at, header, links)", "next_hops(at, header, links)"),
        ("switches", "forwarding_classes(self, at)", "forwarding_classes(at)"),
    ],
)
def test_an_error_that_comes_with_a_failure_is_the_answer(
    tmp_path: Path, where: str, method: str, call: str
) -> None:
    file = tmp_path / "late.py"
    file.write_text(LATE.format(where=where, method=method, call=call, at_servers=where == "agents"))
    plugins.load([file])
    says = f"{file}, line 14: NameError: name 'undefined' is not defined"
    with Lab("bcube:2,1", scheme=f"late-{where}", supervise=False) as lab:
        if where == "switches":
            with pytest.raises(LabError, match=re.escape(says)):
                lab.fail("h0", "s0")
        else:
            lab.fail("h0", "s0")
            lab.run("h0", ["ping", "-c1", "-W1", "h3"])  # the agent decides on the first packet
            poll(lambda: any(says in line for line in lab.info().ended), 30)

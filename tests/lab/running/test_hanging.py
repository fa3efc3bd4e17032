"""Agents that run but hang are noticed and replaced; those that go on after all forward again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab import custom
from dcnlab.lab.client import Lab
from hostagent.runtime.progress import PATIENCE, Turn
from tests.lab.running.test_supervision import assert_whole, await_links
from tests.ovs import poll

_SCHEME = """
import os, sys, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from addressing.schemes.brp import Brp
from topos.graph import ALL_UP

@dataclass(frozen=True)
class Hanging(Brp):
    name: ClassVar[str] = "hanging"

    def next_hops(self, at, header, links=ALL_UP):
        order = Path(__file__).with_name(f"h{at}")
        if "-m hostagent " in Path("/proc/self/cmdline").read_text().replace(chr(0), " ") and order.exists():
            kind = order.read_text()
            while kind == "compute" or order.exists():
                if kind != "compute":
                    time.sleep(3600 if kind == "sleep" else 0.01)
        return super().next_hops(at, header, links)

    def ipv4(self, node):
        order = Path(__file__).with_name("parent")
        words = [Path(f"/proc/{pid}/cmdline").read_text() for pid in (os.getppid(), "self")]
        if "dcnlab.lab.session" in words[0] and "hostagent" in words[1] and order.exists():
            order.unlink()
            time.sleep(3600)
        return super().ipv4(node)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a file h1 with ``compute``, ``sleep`` or ``until removed`` makes the agent of h1 hang at its
    next decision."""
    return tmp_path_factory.mktemp("hanging")


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Lab]:
    (folder / "scheme.py").write_text(_SCHEME)
    custom.load([folder / "scheme.py"])
    with Lab("bcube:2,1", "hanging", datapath="userspace") as one:
        yield one


def journal(lab: Lab, after: int) -> set[str]:
    return {record.event.text() for record in lab.events(after=after, kinds=["process-stopped"])}


@pytest.mark.lab
def test_agents_that_hang_are_replaced_if_they_do_not_go_on(lab: Lab, folder: Path) -> None:
    last = [*lab.events()][-1].number
    orders = {"h0": "compute", "h1": "sleep", "h2": "until removed"}
    for server, order in orders.items():
        (folder / server).write_text(order)
        assert not lab.ping(server, "h3", timeout=0.2).held
    for server in ("h0", "h1"):  # not when they start again
        (folder / server).unlink()
    poll(lambda: {f"agent of {server} hangs" for server in orders} <= journal(lab, last), 120)
    (folder / "h2").unlink()
    poll(lambda: {"agent of h0", "agent of h1"} <= lab.info()["restarts"].keys(), 120)
    # Replaced as well, should this test have been slower than supervision's patience.
    continues = "agent of h2 continues"
    poll(lambda: continues in journal(lab, last) or "agent of h2" in lab.info()["restarts"], 120)
    await_links(lab)
    assert_whole(lab)


@pytest.mark.lab
def test_the_parent_of_all_agents_is_replaced_when_it_hangs(lab: Lab, folder: Path) -> None:
    """At its next start of an agent."""
    last = [*lab.events()][-1].number
    (folder / "parent").touch()
    lab.kill("h1")
    poll(lambda: "supervisor hangs" in journal(lab, last), 120)
    poll(lambda: "supervisor" in lab.info()["restarts"], 120)
    await_links(lab)
    assert_whole(lab)
    assert not (folder / "parent").exists()


def test_only_time_that_a_process_could_use_counts() -> None:
    """Looks at one turn, a second apart, on a machine that gives the process little of its processors."""
    turn = Turn(7)
    for second in range(100):
        turn.note(True, 0.04 * second, float(second))
    assert turn.used == pytest.approx(0.04 * 99)
    turn.note(False, 0.04 * 99, 99 + PATIENCE)
    assert turn.used == pytest.approx(0.04 * 99 + PATIENCE)


def test_a_new_turn_begins_anew() -> None:
    turn = Turn()
    assert not turn.look(0, -1, 0.0)
    assert not turn.look(3, -1, 1.0)
    turn.note(False, 0.0, 2.0)
    turn.note(False, 0.0, 2.0 + PATIENCE)
    assert turn.look(3, -1, 3.0 + PATIENCE)
    assert not turn.look(4, -1, 4.0 + PATIENCE)
    assert turn.used is None

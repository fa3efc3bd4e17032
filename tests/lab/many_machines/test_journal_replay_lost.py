"""The journal, `info`, the page and the tables say the same of links after random losses of machines, among
cuts, pauses, kills and restarts."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import pytest

from dcnlab.lab.api.state import state
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from tests.lab.cluster import Machines, until
from tests.lab.links.test_journal_replay import down_by
from tests.lab.machines import assert_events_say_what_info_says, attached, end_part, name, nodes_of
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("machines")]
FABRIC = registry.fabric("bcube:4,1")
STEPS = 8


@pytest.fixture(scope="module")
def lab(three: Machines) -> Iterator[Lab]:
    lab_name = name()
    three.launched(lab_name, "bcube:4,1", "--scheme", "brp")
    with attached(lab_name) as attached_lab:
        yield attached_lab


def test_an_end_of_a_link_to_another_machine_that_its_host_has_deleted_comes_back(lab: Lab) -> None:
    placed = {node: number for number in range(3) for node in nodes_of(lab, number)}
    link = next(one for one in FABRIC.links() if placed[one.a.node] != placed[one.b.node])
    host, switch = map(FABRIC.name, sorted((link.a.node, link.b.node)))
    port = link.a if FABRIC.is_server(link.a.node) else link.b
    assert lab.run(host, ["ip", "link", "del", f"{host}-eth{port.number}"]).returncode == 0
    until(lambda: lab.info().down == [link.index])
    assert any(f"{host} has no interface" in line for line in lab.info().damage)
    assert lab.restore(host, switch).still_down == []
    assert (lab.info().down, lab.info().damage) == ([], [])
    until(lambda: lab.pingall().lost == [])
    assert lab.ping(host, FABRIC.name((port.node + 1) % FABRIC.servers)).held


class Losses:
    """Random failures of a lab on three machines, of which the first is never lost."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.draw = lab, random.Random(seed)
        self.placed = {number: nodes_of(lab, number) for number in range(3)}
        self.lost: set[int] = set()
        self.cut: set[int] = set()

    def step(self) -> str:
        """One change; its words."""
        actions = [self.lose, self.change, self.process] if len(self.lost) < 2 else [self.change, self.process]
        action = self.draw.choice([*actions, *([self.rejoin] if self.lost else [])])
        return action()

    def lose(self) -> str:
        number = self.draw.choice(sorted({1, 2} - self.lost))
        end_part(self.lab, number)
        self.lost.add(number)
        return f"lose m{number}"

    def rejoin(self) -> str:
        number = self.draw.choice(sorted(self.lost))
        self.lab.rejoin(f"m{number}")
        self.lost.remove(number)
        return f"rejoin m{number}"

    def change(self) -> str:
        link = self.draw.choice(sorted(self.cut) if self.cut and self.draw.random() < 0.5 else range(32))
        up, ends = link in self.cut, FABRIC.link_names(link)
        with contextlib.suppress(LabError):  # both machines are lost
            (self.lab.restore if up else self.lab.fail)(*ends)
            (self.cut.remove if up else self.cut.add)(link)
        return f"{'restore' if up else 'cut'} {ends}"

    def process(self) -> str:
        servers = sorted(node for node in self.living() if FABRIC.is_server(node))
        server, what = FABRIC.name(self.draw.choice(servers)), self.draw.choice(("kill", "pause"))
        getattr(self.lab, what)(server)
        if what == "pause":
            self.lab.restart(server)
        return f"{what} {server}"

    def living(self) -> set[int]:
        """The nodes of machines that are not lost."""
        return {node for number, nodes in self.placed.items() if number not in self.lost for node in nodes}

    def agrees(self) -> bool:
        """Whether journal, `info`, page and tables do."""
        info = self.lab.info().down
        told = down_by(self.lab.events())
        dead = {link.index for link in FABRIC.links() if {link.a.node, link.b.node} - self.living()}
        switches = [FABRIC.name(node) for node in sorted(self.living()) if not FABRIC.is_server(node)]
        same = set(told) == set(info) == set(state(self.lab)["down"]) == self.cut | dead
        return same and all(self.lab.tables(switch).equal for switch in switches)


@pytest.mark.parametrize("seed", [1, 2])
def test_journal_info_page_and_tables_agree_after_random_losses_of_machines(lab: Lab, seed: int) -> None:
    losses, done = Losses(lab, seed), []
    try:
        for _ in range(STEPS):
            done.append(losses.step())
            until(losses.agrees)
            assert_events_say_what_info_says(lab)
    except BaseException as error:
        error.add_note(", ".join(done))
        raise
    while losses.lost:
        losses.rejoin()
    for link in sorted(losses.cut):
        lab.restore(*FABRIC.link_names(link))
    losses.cut.clear()
    until(losses.agrees)

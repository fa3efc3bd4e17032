"""What tests of labs on several machines share: who is where, who answers, what is left."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx

from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.events.kinds import LinkChanged
from tests.lab.cluster import Machines, until
from tests.lab.underlay import Machine
from topos import registry
from topos.fabric import Fabric


def name() -> str:
    return f"many-{secrets.token_hex(3)}"


@contextlib.contextmanager
def attached(lab_name: str) -> Iterator[Lab]:
    """A lab that runs, which ends with the block."""
    lab = Lab.attach(lab_name)
    try:
        yield lab
    finally:
        lab.stop()


def spanned(fabric: Fabric, span: str) -> range:
    """The nodes of ``h0-h3`` or ``h0``."""
    first, _, last = span.partition("-")
    return range(fabric.index(first), fabric.index(last or first) + 1)


def joined(fabric: Fabric, dead: set[int], gone: set[int]) -> list[str]:
    """The servers in the largest piece that is left without these links and nodes."""
    graph = nx.Graph((link.a.node, link.b.node) for link in fabric.links() if link.index not in dead)
    largest = max(nx.connected_components(graph), key=len)
    return [fabric.name(node) for node in sorted(largest - gone) if fabric.is_server(node)]


def cut_link(info: dict[str, Any]) -> tuple[str, str]:
    """The ends of a link between two machines, both of which have other links."""
    fabric = registry.fabric(info["topology"])
    machine = {
        node: number
        for number, part in enumerate(info["machines"])
        for span in part["nodes"]
        for node in spanned(fabric, span)
    }
    ends = [(link.a.node, link.b.node) for link in fabric.links()]
    a, b = next((a, b) for a, b in ends if machine[a] != machine[b] and fabric.port_count(min(a, b)) > 1)
    return fabric.name(a), fabric.name(b)


def nothing_left(machines: Machines, lab: str) -> bool:
    """Whether no part of a lab runs, and no machine has another interface than its own."""
    sockets = [running for running in runtime.labs() if running.name.startswith(lab)]
    return not sockets and all(interfaces(machine) == {"lo", "up0"} for machine in machines.machines)


def interfaces(machine: Machine) -> set[str]:
    """The names of a machine's interfaces."""
    return {line.split()[0].split("@")[0] for line in machine.links().splitlines()}


def assert_lost(lab: Lab, lost: Collection[tuple[str, str]] = ()) -> None:
    """These pairs of servers do not answer, and all others do.

    A machine that is too busy to answer for seconds counts as unreachable until it does; the lab says so, and
    the pairs are asked again then."""
    before = _reports(lab)
    lost_pairs = set(lab.pingall().lost)
    silent = any(part["silent"] for part in lab.info()["machines"])
    if lost_pairs != set(lost) and (silent or _reports(lab) != before):
        until(lambda: set(lab.pingall().lost) == set(lost))
    else:
        assert lost_pairs == set(lost)


def _reports(lab: Lab) -> int:
    """How often any machine has reported a link or a problem."""
    here = [one.name for one in runtime.labs() if one.alive and one.name.startswith(lab.config.name)]
    return sum(1 for one in here for _ in Lab.attach(one).events(kinds=["link", "alarm"]))


def assert_events_say_what_info_says(lab: Lab) -> None:
    """The events of each link alternate, and the last one is the link's state."""
    up: dict[int, bool] = {}
    for event in (record.event for record in lab.events(kinds=["link"])):
        assert isinstance(event, LinkChanged)
        assert event.up != up.get(event.link_number, True), event
        up[event.link_number] = event.up
    assert sorted(number for number, is_up in up.items() if not is_up) == lab.info().down


def all_pairs_answer(lab: Lab, info: dict[str, Any]) -> None:
    """With all links, without one between machines, and with it again; tables follow."""
    assert info["mtu"] == 1450
    assert_lost(lab)
    a, b = cut_link(info)
    cut = lab.fail(a, b)
    assert lab.info()["down"] == cut["links"]
    assert_lost(lab)
    for switch in [node["name"] for node in lab.nodes() if node["kind"] == "switch"][::7]:
        assert lab.tables(switch)["equal"]
    lab.restore(a, b)
    assert lab.info()["down"] == []


def packets_of_the_mtu_pass(lab: Lab, mtu: int, a: str, b: str, *versions: str) -> None:
    """A packet of exactly the MTU that must not be fragmented passes between machines; one byte more is
    refused by the host itself."""
    for version, header in zip(versions, (28, 48), strict=False):

        def ping(size: int, version: str = version, header: int = header) -> str:
            words = ["ping", version, "-c1", "-W2", "-M", "do", "-s", str(size - header), b]
            done = lab.run(a, words)
            return done.stdout + done.stderr

        until(lambda ping=ping: "1 received" in ping(mtu))
        assert str(mtu) in ping(mtu + 1)


def reached(lab: Lab, device: str = "h1-eth1") -> list[str]:
    """The hosts that answer an echo request for all nodes, which leaves h1 by ``device``, as often as they
    answer."""
    said = lab.run("h1", ["ping", "-6", "-c2", "-i1", "-W1", f"ff02::1%{device}"])
    return sorted(re.findall(r"from (\S+?):? icmp_seq=1 ", said.stdout))


def distant(lab: Lab) -> tuple[str, str]:
    """Two servers on different machines."""
    first, second = (part["nodes"][0].partition("-")[0] for part in lab.info()["machines"][:2])
    return first, second


def nodes_of(lab: Lab, number: int) -> set[int]:
    """The nodes of a machine."""
    info = lab.info()
    fabric = registry.fabric(info["topology"])
    return {node for span in info["machines"][number]["nodes"] for node in spanned(fabric, span)}


def all_answer(lab: Lab, servers: list[str]) -> bool:
    """Whether these servers reach each other."""
    return lab.ping(pairs=tuple((a, b) for a in servers for b in servers if a != b)).held


def end_part(lab: Lab, number: int) -> None:
    """Kill the guard of a machine's part: the kernel ends the rest of it."""
    with contextlib.closing(Connection(runtime.socket_path(f"{lab.config.name}-m{number}"))) as connection:
        os.kill(connection.peer, signal.SIGKILL)
    until(lambda: lab.info()["machines"][number]["lost"])

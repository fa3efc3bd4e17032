"""Waiting until a lab has converged, and what of it works then: read from the kernel, not from what the lab
believes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dcnlab.lab.emulation import netns
from dcnlab.lab.running import parts
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.running.parts import Agent, Daemon

_INTERVAL = 0.02


def cut_links(lab: RunningLab) -> frozenset[int]:
    """The links of which an end is down or has no carrier."""
    links = list(lab.fabric.links())
    ends = [lab.running.nic(end) for link in links for end in (link.a, link.b)]
    found = netns.carriers(ends)
    return frozenset(link.index for link, a, b in zip(links, found[::2], found[1::2], strict=True) if not a & b)


def dead_nodes(lab: RunningLab) -> frozenset[int]:
    """The servers whose agents do not run, and the switches of which no process forwards."""
    fabric, dead = lab.fabric, set()
    for part in lab.supervision.parts:
        if isinstance(part, Agent) and not _runs(part):
            dead.add(part.node)
        elif isinstance(part, Daemon) and lab.running.datapath != "kernel" and not _runs(part):
            dead.update(map(fabric.index, part.nodes))
    return frozenset(dead)


def connected(lab: RunningLab) -> Iterator[frozenset[int]]:
    """The pieces into which the links and nodes that work fall: the servers of each."""
    import networkx as nx  # the session starts without it

    fabric, cut, dead = lab.fabric, cut_links(lab), dead_nodes(lab)
    graph = nx.Graph()
    graph.add_nodes_from(range(fabric.size))
    graph.add_edges_from((link.a.node, link.b.node) for link in fabric.links() if link.index not in cut)
    graph.remove_nodes_from(dead)
    for piece in nx.connected_components(graph):
        yield frozenset(node for node in piece if fabric.is_server(node))


def await_convergence(lab: RunningLab, timeout: float) -> str:
    """Wait until every process runs that should, and all know which links are down.

    What is still missing after ``timeout`` seconds; empty if nothing is.
    """
    end = time.monotonic() + timeout
    while (missing := _missing(lab)) and time.monotonic() < end:
        time.sleep(_INTERVAL)
    return missing


def _missing(lab: RunningLab) -> str:
    """What keeps a lab from having converged; empty if nothing does."""
    if waiting := lab.supervision.unsettled():
        return f"{waiting} does not run again"
    cut, silent = cut_links(lab), lab.link_state.silent_links().down
    known = lab.link_state.state().down
    if known != cut | silent:
        names = ", ".join(_name(lab, link) for link in sorted(known ^ (cut | silent))[:4])
        return f"the lab is wrong about {names}"
    return lab.link_state.unsettled()


def _name(lab: RunningLab, number: int) -> str:
    link = lab.fabric.link(number)
    return f"{lab.fabric.name(link.a.node)}-{lab.fabric.name(link.b.node)}"


def _runs(part: parts.Part) -> bool:
    pid = part.pid()
    return pid is not None and not part.stopped and parts.state_of(pid) not in ("", "Z", "T")

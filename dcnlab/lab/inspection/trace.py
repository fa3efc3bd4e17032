"""The path of a packet through tables that the scheme does not know: Open vSwitch is asked at each switch.

``ofproto/trace`` says which entry matches a packet and where it leaves, also of a controller elsewhere, of an
application, or of somebody who added it by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from addressing.fields import ipv4, mac
from dcnlab.lab.inspection import flows
from dcnlab.lab.running.lab import RunningLab
from topos.graph import Port

#: A path with more switches goes round in a circle.
_LONGEST = 64
_ENTRY = re.compile(r"^ ?(\d+)\. (?:(\S*), )?priority (\d+)", re.MULTILINE)
_ACTIONS = re.compile(r"^Datapath actions: (.*)$", re.MULTILINE)
_PORT = re.compile(r"^\s+(\S+) (\d+)/(\d+):", re.MULTILINE)
_OUTPUT = re.compile(r"(?:^|,)(\d+)(?=,|$)")
_NESTED = re.compile(r"\([^()]*\)")


def steps(session: RunningLab, source: int, destination: int) -> list[dict[str, Any]]:
    """The steps from one plain host to another, in the form of ``explain``; the first port where there are
    several.  The last step says whether the packet arrives."""
    fabric = session.fabric
    found = [_step(fabric.name(source), "sends to its only port")]
    at = next(peer for _, peer in fabric.ports(source))
    for _ in range(_LONGEST):
        if fabric.is_server(at.node):
            arrived = at.node == destination
            reason = "delivers: destination reached" if arrived else "is not the destination"
            return [*found, _step(fabric.name(at.node), reason, delivered=arrived)]
        step, ports = _switch(session, at, source, destination)
        found.append(step)
        peers = [peer for port in ports if (peer := fabric.peer(at.node, port)) is not None]
        if not peers:
            return found
        at = peers[0]
    return [*found[:-1], {**found[-1], "reason": f"{found[-1]['reason']}; the packet goes round in a circle"}]


def _switch(session: RunningLab, at: Port, source: int, destination: int) -> tuple[dict[str, Any], list[int]]:
    """What a switch does with the packet that arrives at a port: the step, and the ports by which it leaves."""
    fabric, name = session.fabric, session.fabric.name(at.node)
    shard = session.running.shard(name)
    text = shard.run("ovs-appctl", "ofproto/trace", name, _packet(session, at.number, source, destination))
    actions = _ACTIONS.search(text)
    done = actions[1] if actions else ""
    ports = list(_outputs(done, _ports(shard.run("ovs-appctl", "dpif/show"), name)))
    entry = _entry(text, flows.flows(session, at.node)["flows"])
    if ports:
        where = ", ".join(f"port {port} to {_peer(session, at.node, port)}" for port in ports)
        reason = f"arrived at port {at.number} -> {where}"
    else:
        reason = "asks the controller" if "userspace" in done or "controller" in done else "drops: no port"
    return _step(fabric.name(at.node), reason, entry, bool(entry)), ports


def _packet(session: RunningLab, port: int, source: int, destination: int) -> str:
    """A packet between two hosts in the words of ``ofproto/trace``."""
    scheme = session.running.scheme
    ends = (("src", source), ("dst", destination))
    addresses = [f"dl_{end}={mac.text(mac.hardware(node, 1))}" for end, node in ends]
    addresses += [f"nw_{end}={ipv4.text(scheme.ipv4(node))}" for end, node in ends]
    return ",".join(["icmp", f"in_port={port}", *addresses, "nw_ttl=64"])


def _entry(text: str, known: list[dict[str, Any]]) -> str:
    """The last entry that matched, as Open vSwitch prints it; empty where none did."""
    matched = _ENTRY.findall(text)
    if not matched:
        return ""
    table, match, priority = matched[-1]
    keys = int(table), int(priority), match
    entry = next((e for e in known if (e["table"], e["priority"], e["match"]) == keys), None)
    where = f"table={table}, " if table != "0" else ""
    if entry is None:
        return f"{where}priority={priority}{',' if match else ''}{match}"
    words = f"cookie={entry['cookie']}, {where}priority={priority}{',' if match else ''}{match}"
    return f"{words} actions={entry['actions']}"


def _ports(text: str, bridge: str) -> dict[int, int]:
    """OpenFlow ports of a bridge by the number that the datapath gives them."""
    own = re.compile(rf"{re.escape(bridge)}-eth\d+")
    return {int(there): int(port) for name, port, there in _PORT.findall(text) if own.fullmatch(name)}


def _outputs(actions: str, ports: dict[int, int]) -> Iterator[int]:
    """The OpenFlow ports in datapath actions such as ``set(eth(dst=..)),3,5``."""
    while (simpler := _NESTED.sub("", actions)) != actions:
        actions = simpler
    return (ports[int(number)] for number in _OUTPUT.findall(actions) if int(number) in ports)


def _peer(session: RunningLab, node: int, port: int) -> str:
    peer = session.fabric.peer(node, port)
    return "no node" if peer is None else session.fabric.name(peer.node)


def _step(
    node: str, reason: str, entry: str = "", installed: bool | None = None, delivered: bool = False
) -> dict[str, Any]:
    found = {"node": node, "reason": reason, "delivered": delivered, "entry": entry, "branches": ()}
    return {**found, "installed": installed}

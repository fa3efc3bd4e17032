"""What a switch does with a frame, by Open vSwitch's own account (``ofproto/trace``).

It says which entry decides and where the frame leaves, also where the entry is that of a controller elsewhere,
of an application, or of somebody who added it by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from addressing.fields import ipv4, mac
from dcnlab.lab.contract.switches import FlowEntry
from dcnlab.lab.emulation.switches import appctl
from dcnlab.lab.inspection import flows
from dcnlab.lab.network.snapshot import Frame, Verdict
from dcnlab.lab.running.local_machine import LocalMachine
from topos.graph import Port

_ENTRY = re.compile(r"^ ?(\d+)\. (?:(\S*), )?priority (\d+)", re.MULTILINE)
_ACTIONS = re.compile(r"^Datapath actions: (.*)$", re.MULTILINE)
_FINAL = re.compile(r"^Final flow: (.*)$", re.MULTILINE)
_FIELD = re.compile(r"(?:^|,)(dl_src|dl_dst|nw_src|nw_dst)=([0-9a-f:.]+)(?=,|$)")
_PORT = re.compile(r"^\s+(\S+) (\d+)/(\d+):", re.MULTILINE)
_IN_PORT = re.compile(r'in_port="?([^",]+)"?')
_OUTPUT = re.compile(r"(?:^|,)(\d+)(?=,|$)")
_NESTED = re.compile(r"\([^()]*\)")


def ask(session: LocalMachine, at: Port, frame: Frame) -> Verdict:
    """What the switch does with a frame that arrives at that port of it."""
    name = session.fabric.name(at.node)
    rundirs = [session.running.shard(name).rundir]
    (text,) = appctl.call(rundirs, "ofproto/trace", name, _described(frame, at.number))
    (shown,) = appctl.call(rundirs, "dpif/show")
    ports = _ports(shown, name)
    actions, final = _ACTIONS.search(text), _FINAL.search(text)
    done = actions[1] if actions else ""
    return Verdict(
        _entry(text, flows.flows(session, at.node).flows, {name: port for name, port, _ in ports}),
        tuple(_outputs(done, {there: port for _, port, there in ports})),
        _changed(frame, final[1]) if final else frame,
        "userspace" in done or "controller" in done,
    )


def _described(frame: Frame, port: int) -> str:
    """A frame at a port in the words of ``ofproto/trace``."""
    addresses = [f"{name}={mac.text(getattr(frame, name))}" for name in ("dl_src", "dl_dst")]
    addresses += [f"{name}={ipv4.text(getattr(frame, name))}" for name in ("nw_src", "nw_dst")]
    return ",".join(["icmp", "icmp_type=8", f"in_port={port}", *addresses, "nw_ttl=64"])


def _changed(frame: Frame, text: str) -> Frame:
    """A frame with the addresses that a flow of ``ofproto/trace`` names."""
    return replace(frame, **{name: _number(value) for name, value in _FIELD.findall(text)})


def _number(value: str) -> int:
    """A MAC address or an IPv4 address as a number."""
    if ":" in value:
        return int(value.replace(":", ""), 16)
    return int.from_bytes(bytes(map(int, value.split("."))), "big")


def _entry(text: str, known: list[FlowEntry], names: dict[str, int]) -> str:
    """The last entry that matched, as Open vSwitch prints it; empty where none did."""
    matched = _ENTRY.findall(text)
    if not matched:
        return ""
    table, match, priority = matched[-1]
    match = _IN_PORT.sub(lambda port: f"in_port={names.get(port[1], port[1])}", match)
    keys = int(table), int(priority), match
    entry = next((e for e in known if (e.table, e.priority, e.match) == keys), None)
    where = f"table={table}, " if table != "0" else ""
    words = f"{where}priority={priority}{',' if match else ''}{match}"
    return words if entry is None else f"cookie={entry.cookie}, {words} actions={entry.actions}"


def _ports(text: str, bridge: str) -> list[tuple[str, int, int]]:
    """The ports of a bridge: the interface, the number of OpenFlow, and that of the datapath."""
    _, _, after = text.partition(f"\n  {bridge}:\n")
    own = re.split(r"^  \S", after, maxsplit=1, flags=re.MULTILINE)[0]
    return [(name, int(port), int(there)) for name, port, there in _PORT.findall(own)]


def _outputs(actions: str, ports: dict[int, int]) -> Iterator[int]:
    """The OpenFlow ports in datapath actions such as ``set(eth(dst=..)),3,5``."""
    while (simpler := _NESTED.sub("", actions)) != actions:
        actions = simpler
    return (ports[int(number)] for number in _OUTPUT.findall(actions) if int(number) in ports)

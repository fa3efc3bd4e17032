"""Tables in files, of any network: what ``ovs-ofctl`` printed, or transfer functions of header space analysis.

A folder holds either ``NAME.flows`` (and ``NAME.groups``, ``NAME.ports``) of each switch with a file ``links``,
or what :mod:`dcnlab.verifier.transfers` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from dcnlab.verifier import spaces, transfers
from dcnlab.verifier.atoms import Predicate, Preimage, closed, representatives
from dcnlab.verifier.checking import Check, Report
from dcnlab.verifier.openflow import fields, reading
from dcnlab.verifier.openflow.pipeline import Sent, ToController, changes, process
from dcnlab.verifier.openflow.tables import PortState, Switch
from dcnlab.verifier.openflow.verdicts import decisive, why_lost
from dcnlab.verifier.search import Ending, Kind, Step
from dcnlab.verifier.transfers import MOST, Names, Unreadable
from topos.graph import ALL_UP, LinkState

#: A switch and a port; where a packet is, with its header.
End = tuple[int, int]
Place = tuple[int, int, int]

_LINK = re.compile(r"(\S+):(\d+)\s+(\S+):(\d+)")
_HOST = re.compile(r"host\s+(\S+)\s+(\S+):(\d+)\s+(\S+)")


@dataclass(frozen=True)
class Dumped:
    """Switches, the links between their ports, and hosts: where they are, and what packets are for them."""

    links: ClassVar[LinkState] = ALL_UP
    switches: Sequence[Switch]
    peers: Mapping[End, End]
    hosts: Mapping[str, tuple[End, Predicate]]

    @cached_property
    def fabric(self) -> Names:
        """The switches, then the hosts, then what is outside."""
        return Names([*(switch.name for switch in self.switches), *self.hosts, "outside"])

    @cached_property
    def _host_at(self) -> dict[End, int]:
        return {end: len(self.switches) + rank for rank, (end, _) in enumerate(self.hosts.values())}

    def step(self, place: Place) -> Step[Place]:
        """What a switch does with a packet."""
        node, port, header = place
        return tuple(
            tuple(self._copied(node, copy) for copy in copies)
            or (Ending(Kind.lost, node, why_lost(self.switches[node], port, header)),)
            for copies in process(self.switches[node], port, header)
        )

    def _copied(self, node: int, copy: object) -> Place | Ending:
        if isinstance(copy, ToController):
            return Ending(Kind.asks, node, "asks the controller")
        if not isinstance(copy, Sent):
            return Ending(Kind.unknown, node, getattr(copy, "reason", ""))
        end = node, copy.port
        if end in self.peers:
            return *self.peers[end], copy.header
        return Ending(Kind.arrives, self._host_at.get(end, len(self.fabric.names) - 1))

    def node(self, place: Place) -> int:
        """Where the packet is."""
        return place[0]

    def packet(self, place: Place) -> str:
        """The packet as ``ofproto/trace`` reads it."""
        return fields.text(place[2])

    def entry(self, place: Place) -> str:
        """The entries that decide."""
        node, port, header = place
        return " or ".join(entry.text for entry in decisive(self.switches[node], port, header))

    def command(self, places: Sequence[Place], _: object) -> str:
        """What ``ovs-appctl`` can be asked where the switches are."""
        node, port, _ = places[0]
        return f"ovs-appctl ofproto/trace {self.fabric.name(node)} in_port={port},{self.packet(places[0])}"

    def classes(self) -> list[int]:
        """A header of each class that entries and hosts tell apart; TooMany if there are too many."""
        made: dict[object, Preimage] = {}
        for switch in self.switches:
            made |= dict(changes(switch.actions()))
        tested = [entry.match for switch in self.switches for entry in switch.entries]
        tested += [match for _, match in self.hosts.values()]
        preferred = fields.packet(dl_type=fields.IPV4, nw_proto=fields.ICMP, icmp_type=8, nw_ttl=64)
        return representatives(closed(tested, made.values()), fields.BITS, preferred, MOST)

    def edges(self) -> Iterator[End]:
        """The ports that lead to no other switch."""
        for node, switch in enumerate(self.switches):
            yield from ((node, port) for port in switch.ports if (node, port) not in self.peers)

    def check(self) -> list[Report]:
        """Of packets between hosts, if there are any; then of any packets at any edge port."""
        every = self.classes()
        reports = []
        if self.hosts:
            starts = {
                (self._host_at[here], self._host_at[there]): [
                    (*here, header) for header in every if not (header ^ value) & mask
                ]
                for here, _ in self.hosts.values()
                for there, (value, mask) in self.hosts.values()
                if here != there
            }
            reports.append(Check(self, [0] * len(self.fabric.names)).pairs(starts))
        reports.append(Check(self).any_packet((*end, header) for end in self.edges() for header in every))
        return reports


def check(tables: Dumped | transfers.Transfers) -> list[Report]:
    """What is found in the tables of a folder.  TooMany if there are too many classes of packets."""
    return tables.check() if isinstance(tables, Dumped) else [spaces.check(tables)]


def read(folder: Path) -> Dumped | transfers.Transfers:
    """The tables of a folder.  Unreadable with one line."""
    try:
        if (topology := next(folder.glob("*topology.tf"), None)) is not None:
            return transfers.read(topology)
        if (folder / "links").exists():
            return _dumped(folder)
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{folder}: {error}") from error
    raise Unreadable(f"{folder}: no folder with a file links (ovs-ofctl dumps) or topology.tf (Hassel)")


def _dumped(folder: Path) -> Dumped:
    names = sorted(path.stem for path in folder.glob("*.flows"))
    number = {name: rank for rank, name in enumerate(names)}
    peers, hosts = dict[End, End](), dict[str, tuple[End, Predicate]]()
    for place, line in enumerate((folder / "links").read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        link, host = _LINK.fullmatch(line.strip()), _HOST.fullmatch(line.strip())
        try:
            if link is not None:
                a, b = (number[link[1]], int(link[2])), (number[link[3]], int(link[4]))
                peers |= {a: b, b: a}
            elif host is not None:
                end = number[host[2]], int(host[3])
                hosts[host[1]] = end, reading.entry(f"{host[4]} actions=drop").match
            else:
                raise Unreadable(f"{folder / 'links'}:{place}: neither `s0:1 s1:2` nor `host h0 s0:3 MATCH`")
        except KeyError as error:
            raise Unreadable(f"{folder / 'links'}:{place}: there is no file {error.args[0]}.flows") from error
    used: dict[int, set[int]] = {}
    for node, port in (*peers, *(end for end, _ in hosts.values())):
        used.setdefault(node, set()).add(port)
    return Dumped([_switch(folder, name, used.get(number[name], set())) for name in names], peers, hosts)


def _switch(folder: Path, name: str, ports: Iterable[int]) -> Switch:
    texts = ((folder / f"{name}.{kind}") for kind in ("flows", "groups", "ports"))
    read = reading.switch(name, *(path.read_text() if path.exists() else "" for path in texts))
    known = read.ports or {port: PortState() for port in sorted(ports)}
    return Switch(name, read.entries, read.groups, known)

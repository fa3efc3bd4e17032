"""A running network as steps of packets: what switches hold, by any controller, and the agents' rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from addressing.fields import mac
from addressing.header import Deliver, Drop, Forward, Header
from addressing.scheme import Scheme
from dcnlab.verifier.agents import Agents
from dcnlab.verifier.atoms import Predicate, Preimage, closed, representatives
from dcnlab.verifier.openflow import fields, frames
from dcnlab.verifier.openflow.pipeline import (
    Alternatives,
    Copy,
    Noted,
    Sent,
    ToController,
    changes,
    process,
)
from dcnlab.verifier.openflow.tables import Switch
from dcnlab.verifier.openflow.verdicts import decisive, why_lost
from dcnlab.verifier.search import Ending, Kind, Step
from hostagent.forwarding.framing import Framing
from topos.fabric import Fabric
from topos.graph import LinkState

#: A node, the port where a packet arrives (0 at its source), and its header
#: (:mod:`dcnlab.verifier.openflow.fields`).
Place = tuple[int, int, int]
Pair = tuple[int, int]

_GROUP_BIT = 1 << 40
_ECHO_REQUEST, _TTL = 8, 64
#: What senders choose freely in a packet for a destination.
_FREE = ("nw_proto", "nw_dscp", "nw_ecn", "nw_frag", "tp_src", "tp_dst", "tcp_flags", "icmp_type", "icmp_code")
FREE = sum(fields.MASK[name] for name in _FREE)


@dataclass(frozen=True)
class Installed:
    """The steps of packets in a network whose switches hold ``switches`` (by node number).

    ``scheme`` knows the failures that the control plane knows; ``links`` are down.  ``ours`` says whether the
    lab's own controller fills the tables; ``lab`` is the lab's name, for commands.
    """

    scheme: Scheme
    links: LinkState
    switches: Mapping[int, Switch]
    ours: bool = True
    lab: str = "LAB"
    #: What stands out where packets were seen.
    noted: dict[Place, Noted] = field(default_factory=dict)
    #: By switch and header, what happens to packets of any port.
    _anywhere: dict[int, dict[int, tuple[Alternatives, Noted]]] = field(default_factory=dict)

    @property
    def ambiguous(self) -> dict[tuple[int, tuple[str, ...]], Place]:
        """Entries of one priority that match the same packet and do different things, with such a packet's
        place."""
        return {
            (place[0], tuple(entry.text for entry in entries)): place
            for place, noted in self.noted.items()
            for entries in noted.overlaps
        }

    @property
    def metered(self) -> dict[tuple[int, str], None]:
        """Meters that packets pass, by switch: they may drop them."""
        return {(place[0], meter): None for place, noted in self.noted.items() for meter in noted.meters}

    @cached_property
    def fabric(self) -> Fabric:
        """The nodes and links."""
        return self.scheme.fabric

    @cached_property
    def framing(self) -> Framing:
        """How labels and tags stand in frames."""
        return Framing(self.scheme)

    # --- steps ------------------------------------------------------------------

    def step(self, place: Place) -> Step[Place]:
        """What can happen to a packet at a place."""
        node, port, header = place
        if self.fabric.is_end_host(node):
            return ((self._host(node, port, header),),)
        if self.fabric.is_server(node):
            return self._relay(node, port, header)
        return self._switch(node, port, header)

    def _host(self, node: int, port: int, header: int) -> Place | Ending:
        """A plain host sends by its first port that is up, and takes what is addressed to its interface."""
        if not port:
            first = next((number for number, _ in self.fabric.ports(node, self.links)), None)
            return (
                Ending(Kind.lost, node, "the host's link is down")
                if first is None
                else self._sent(node, first, header)
            )
        if fields.get(header, "vlan_present") and (tag := fields.get(header, "dl_vlan")):
            return Ending(Kind.lost, node, f"arrives at a host with VLAN tag {tag}")
        to = fields.get(header, "dl_dst")
        if to == mac.hardware(node, port) or to & _GROUP_BIT:
            return Ending(Kind.arrives, node)
        return Ending(Kind.lost, node, f"arrives at a host with another address than {mac.text(to)}")

    def _relay(self, node: int, port: int, header: int) -> Step[Place]:
        """An agent does what the rule says of a labelled IPv4 packet."""
        to = fields.get(header, "dl_dst")
        if fields.get(header, "dl_type") != fields.IPV4 or fields.get(header, "vlan_present"):
            return ((Ending(Kind.lost, node, "agents relay IPv4 only"),),)
        if to & mac.FIXED_MASK != mac.FIXED:
            return ((Ending(Kind.lost, node, f"{mac.text(to)} is no label"),),)
        read = self._header(port, header)
        return tuple(
            (self._acted(node, header, read, action),) for action, _ in self.scheme.act(node, read, self.links)
        )

    def _header(self, port: int, header: int) -> Header:
        label = fields.get(header, "nw_dst").to_bytes(4) if self.framing.by_address else None
        destination = label or fields.get(header, "dl_dst").to_bytes(6)
        return self.framing.header(destination + fields.get(header, "dl_src").to_bytes(6), port)

    def _acted(self, node: int, header: int, read: Header, action: Forward | Deliver | Drop) -> Place | Ending:
        if isinstance(action, Deliver):
            return Ending(Kind.arrives, node)
        if isinstance(action, Drop):
            return Ending(Kind.lost, node, action.reason)
        after = action.apply(read, self.scheme.tag_bits)
        both = self.framing.addresses(after, mac.hardware(node, action.port))
        header &= ~(fields.MASK["dl_dst"] | fields.MASK["dl_src"])
        header |= fields.packet(dl_dst=int.from_bytes(both[:6]), dl_src=int.from_bytes(both[6:]))
        return self._sent(node, action.port, header)

    def _sent(self, node: int, port: int, header: int) -> Place | Ending:
        end = self.fabric.peer(node, port) if 1 <= port <= self.fabric.port_count(node) else None
        if end is None or self.fabric.link_at(node, port) in self.links.down:
            return Ending(Kind.lost, node, f"port {port} is down")
        return end.node, end.number, header

    def _switch(self, node: int, port: int, header: int) -> Step[Place]:
        switch = self.switches.get(node)
        if switch is None:
            return ((Ending(Kind.unknown, node, "the switch could not be read"),),)
        alternatives, noted = self._processed(node, switch, port, header)
        if noted.overlaps or noted.meters:
            self.noted[node, port, header] = noted
        else:
            self.noted.pop((node, port, header), None)
        return tuple(
            tuple(self._copied(node, copy) for copy in copies) or self._dropped(node, switch, port, header)
            for copies in alternatives
        )

    def _processed(self, node: int, switch: Switch, port: int, header: int) -> tuple[Alternatives, Noted]:
        """What a switch does with a packet.  Where nothing asks for the port, that is computed once for all
        ports: then no copy leaves by the packet's own."""
        if switch.asks_for_ports:
            noted = Noted()
            return process(switch, port, header, noted), noted
        known = self._anywhere.setdefault(node, {})
        if header not in known:
            noted = Noted()
            known[header] = process(switch, 0, header, noted), noted
        alternatives, noted = known[header]
        if any(isinstance(copy, Sent) and copy.port == port for copies in alternatives for copy in copies):
            kept = (
                tuple(copy for copy in copies if not (isinstance(copy, Sent) and copy.port == port))
                for copies in alternatives
            )
            alternatives = tuple(dict.fromkeys(kept))
        return alternatives, noted

    def forget(self, node: int) -> None:
        """The switch has changed."""
        self._anywhere.pop(node, None)

    @staticmethod
    def _dropped(node: int, switch: Switch, port: int, header: int) -> tuple[Ending, ...]:
        return (Ending(Kind.lost, node, why_lost(switch, port, header)),)

    def _copied(self, node: int, copy: Copy) -> Place | Ending:
        if isinstance(copy, Sent):
            return self._sent(node, copy.port, copy.header)
        if isinstance(copy, ToController):
            return Ending(Kind.asks, node, "asks the controller")
        return Ending(Kind.unknown, node, copy.reason)

    # --- packets ----------------------------------------------------------------

    def starts(self) -> dict[Pair, list[Place]]:
        """The packets of every pair of servers, as their sources send them: all protocols and ports that some
        entry tells apart."""
        free = self.free(self.predicates())
        ends = range(self.fabric.servers)
        return {
            (a, b): [(a, 0, header | rest) for header in self.packets(a, b) for rest in free]
            for a in ends
            for b in ends
            if a != b
        }

    def predicates(self) -> list[Predicate]:
        """What entries ask of packets as they leave their sources, before switches write into them."""
        made: dict[object, Preimage] = {}
        for switch in self.switches.values():
            made |= dict(changes(switch.actions()))
        return closed(self._tested(), made.values())

    @staticmethod
    def free(tested: Iterable[Predicate]) -> list[int]:
        """What predicates tell apart of the fields that senders choose."""
        echo = fields.packet(nw_proto=fields.ICMP, icmp_type=_ECHO_REQUEST)
        chosen = {(value & FREE, mask & FREE) for value, mask in tested}
        return [header & FREE for header in representatives(chosen, fields.BITS, echo)]

    def packets(self, source: int, destination: int) -> Iterator[int]:
        """IPv4 packets of a pair, one for each header that the source may write."""
        scheme = self.scheme
        for header, _ in scheme.headers(source, destination, self.links):
            to = header.label if self.framing.by_address else scheme.ipv4(destination)
            base = fields.packet(dl_type=fields.IPV4, nw_src=scheme.ipv4(source), nw_dst=to, nw_ttl=_TTL)
            if self.fabric.is_end_host(source):
                yield base | self._host_addresses(source, destination)
            else:
                both = self.framing.addresses(header, mac.hardware(source, 1))
                yield base | fields.packet(dl_dst=int.from_bytes(both[:6]), dl_src=int.from_bytes(both[6:]))

    def _host_addresses(self, source: int, destination: int) -> int:
        labelled = self.ours and not self.framing.by_address
        to = (
            mac.encode(self.scheme.label(destination), self.scheme.label_bits)
            if labelled
            else mac.hardware(destination, 1)
        )
        return fields.packet(dl_dst=to, dl_src=mac.hardware(source, 1))

    def injected(self, header: int) -> Iterator[Place]:
        """Where a packet arrives when a server sends it by any of its ports."""
        for server in range(self.fabric.servers):
            for _, end in self.fabric.ports(server, self.links):
                yield end.node, end.number, header

    def classes(self, most: int = 1 << 16) -> list[int]:
        """A header of each class that entries and agents tell apart, now and after they have rewritten it.

        TooMany with more than ``most`` of them."""
        made: dict[object, Preimage] = {}
        for switch in self.switches.values():
            made |= dict(changes(switch.actions()))
        if self.fabric.relaying:
            made |= Agents(self.scheme, self.framing).changes()
        tested = closed((*self._tested(), *self._told_by_servers()), made.values())
        preferred = fields.packet(
            dl_type=fields.IPV4, nw_proto=fields.ICMP, icmp_type=_ECHO_REQUEST, nw_ttl=_TTL
        )
        return representatives(tested, fields.BITS, preferred, most)

    def _tested(self) -> Iterable[Predicate]:
        return {entry.match for switch in self.switches.values() for entry in switch.entries}

    def _told_by_servers(self) -> Iterator[Predicate]:
        """What plain hosts and agents tell apart."""
        if not self.fabric.relaying:
            yield fields.field("dl_dst", _GROUP_BIT, _GROUP_BIT)
            yield fields.field("vlan_present", 1)
            yield fields.field("dl_vlan", 0)
            for server in range(self.fabric.servers):
                yield fields.field("dl_dst", mac.hardware(server, 1))
            return
        yield from Agents(self.scheme, self.framing).told()

    # --- in words ---------------------------------------------------------------

    def node(self, place: Place) -> int:
        """Where the packet is."""
        return place[0]

    def packet(self, place: Place) -> str:
        """The packet as ``ofproto/trace`` reads it."""
        return fields.text(place[2])

    def entry(self, place: Place) -> str:
        """The entries of a switch that decide, or what a relay does by its rule."""
        node, port, header = place
        if self.fabric.is_end_host(node):
            return ""
        if self.fabric.is_server(node):
            done = (copy for copies in self._relay(node, port, header) for copy in copies)
            return "rule -> " + ", ".join(
                f"to {self.fabric.name(one[0])}" if isinstance(one, tuple) else one.reason or one.kind.value
                for one in done
            )
        entries = decisive(self.switches[node], port, header) if node in self.switches else []
        return " or ".join(entry.text for entry in entries)

    def command(self, places: Sequence[Place], pair: Pair | None) -> str:
        """``dcnlab trace`` sends an echo request of a pair; any other packet is sent as a raw frame."""
        if pair is not None and self._is_echo(places[0][2]):
            a, b = map(self.fabric.name, pair)
            return f"dcnlab trace {self.lab} {a} {b}"
        first = next((place for place in places if place[1]), None)
        end = None if first is None else self.fabric.peer(first[0], first[1])
        if first is None or end is None:
            return ""
        interface = f"{self.fabric.name(end.node)}-eth{end.number}"
        send = (
            "import socket; s = socket.socket(17, 3); "
            f's.bind(("{interface}", 0)); s.send(bytes.fromhex("{frames.frame(first[2]).hex()}"))'
        )
        return f"dcnlab exec {self.lab} {self.fabric.name(end.node)} python3 -c '{send}'"

    @staticmethod
    def _is_echo(header: int) -> bool:
        free = fields.packet(nw_proto=fields.ICMP, icmp_type=_ECHO_REQUEST)
        return header & FREE == free

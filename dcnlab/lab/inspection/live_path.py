"""The path of a packet in a running lab: servers apply the scheme, switches what Open vSwitch holds.

A switch that applies the scheme's entry has the step of :mod:`dcnlab.lab.inspection.explain`.  If it applies
another one, by any controller, the step names that entry, and the path goes on where it sends the packet.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from addressing.fields import mac
from addressing.header import Field, Forward, Header
from addressing.scheme import Hop, pick
from controller.hosts.answering import address
from dcnlab.lab import naming
from dcnlab.lab.contract.switches import PathStep
from dcnlab.lab.inspection import explain, tables
from dcnlab.lab.inspection.explain import Follow, Step
from dcnlab.lab.network.snapshot import Frame, Network
from hostagent.forwarding.framing import Framing
from topos.graph import Port

Steps = list[PathStep]
#: Where a frame arrives, and the frame.
Arrival = tuple[Port, Frame]


def explained(network: Network, a: str, b: str, follow: str) -> Steps:
    """The steps between servers of these names."""
    source, destination = (naming.server(network.fabric, name, network.scheme) for name in (a, b))
    return steps(network, source, destination, Follow(follow))


def steps(network: Network, source: int, destination: int, follow: Follow = Follow.heaviest) -> Steps:
    """The steps from one server to another; of several copies the one that arrives, else the first.

    A step is a :class:`~dcnlab.lab.inspection.explain.Step` with ``installed`` (None for servers) and
    ``overrides``: the entry of the scheme over which another one takes precedence, or empty.
    """
    walk = _Walk(network, destination, follow)
    scheme = network.scheme
    if not (headers := scheme.headers(source, destination, walk.links)):
        return [_shown(Step(network.fabric.name(source), "drops: the source knows of no path", False))]
    header, _ = pick(headers, None, follow is Follow.heaviest)
    nw_dst = header.label if scheme.label_field is Field.IPV4_DST else scheme.ipv4(destination)
    frame = Frame(0, 0, scheme.ipv4(source), nw_dst)
    step, arrivals = walk.server(source, header, frame)
    return [_shown(step), *walk.onward(arrivals)]


def decisions(network: Network, source: int, destination: int, arrivals: list[Arrival]) -> Steps:
    """What the source and each node does with a packet that was seen to arrive there."""
    walk, steps = _Walk(network, destination, Follow.heaviest), []
    for number, (at, frame) in enumerate([(Port(source, 0), Frame(0, 0, 0, 0)), *arrivals]):
        following = arrivals[number][0] if number < len(arrivals) else None
        before = None if following is None else network.fabric.peer(following.node, following.number)
        walk.taken = before.number if before is not None and before.node == at.node else 0
        steps.append(walk.arrive(at, frame)[0] if number else walk.sent(source))
    return steps


@dataclass
class _Walk:
    """The path of one packet; ``seen`` has the arrivals that were followed already, ``taken`` is the port by
    which the packet has left the node, where that is known."""

    network: Network
    destination: int
    follow: Follow
    seen: set[Arrival] = field(default_factory=set)
    taken: int = 0

    def __post_init__(self) -> None:
        self.links, self.ours = self.network.links, self.network.ours
        self.scheme, self.fabric = self.network.scheme, self.network.fabric
        self.framing = Framing(self.scheme)

    def onward(self, arrivals: list[Arrival]) -> Steps:
        """The steps from where a packet, or its copies, arrive."""
        steps: Steps = []
        while arrivals:
            if len(arrivals) > 1:
                branches = (self.onward([arrival]) for arrival in arrivals)
                first = next(branches)
                arriving = (branch for branch in (first, *branches) if branch and branch[-1].delivered)
                return [*steps, *next(arriving, first)]
            (at, frame), *_ = arrivals
            name = self.fabric.name(at.node)
            if arrivals[0] in self.seen:
                return [
                    *steps,
                    _shown(Step(name, "drops in the end: the packet goes round in a circle", False)),
                ]
            self.seen.add(arrivals[0])
            step, arrivals = self.arrive(at, frame)
            steps.append(step)
        return steps

    def sent(self, source: int) -> PathStep:
        """The source's step, by the port that the packet has taken."""
        headers = self.scheme.headers(source, self.destination, self.links)
        if not self.taken:
            reason = "no node has seen the packet" if headers else "drops: the source knows of no path"
            return _shown(Step(self.fabric.name(source), reason, False))
        for header, _ in headers:
            hop = self._hop(source, header)
            if isinstance(hop.action, Forward) and hop.action.port == self.taken:
                plain = self.fabric.is_end_host(source)
                step = explain.step(self.scheme, hop, self.destination, self.links)
                return _shown(replace(step, entry="") if plain and not self.ours else step)
        reason = f"sends by port {self.taken} to {self._peer(source, self.taken)}"
        return _shown(Step(self.fabric.name(source), reason, False))

    def arrive(self, at: Port, frame: Frame) -> tuple[PathStep, list[Arrival]]:
        """What a node does with a frame at a port of it, and where that frame arrives next."""
        if not self.fabric.is_server(at.node):
            return self.switch(at, frame)
        step, arrivals = self.server(at.node, self._header(at, frame), frame)
        return _shown(step), arrivals

    def server(self, node: int, header: Header, frame: Frame) -> tuple[Step, list[Arrival]]:
        """A server's step: a relay's by its rule, a plain host's without one."""
        name = self.fabric.name(node)
        plain = self.fabric.is_end_host(node)
        if plain and header.in_port:
            arrived = node == self.destination
            reason = "delivers: destination reached" if arrived else "is not the destination"
            return Step(name, reason, arrived), []
        if header.in_port and not self._labelled(frame):
            return Step(name, f"drops: {mac.text(frame.dl_dst)} is no label", False), []
        hop = self._hop(node, header)
        if plain and not self.ours and isinstance(hop.action, Forward):
            step = Step(name, f"sends by port {hop.action.port} to {self._peer(node, hop.action.port)}", False)
        else:
            step = explain.step(self.scheme, hop, self.destination, self.links)
        return self._ended(step, hop, frame)

    def switch(self, at: Port, frame: Frame) -> tuple[PathStep, list[Arrival]]:
        """A switch's step: by the scheme's entry where that one decides, else by the one that does."""
        hop = self._hop(at.node, self._header(at, frame)) if self.ours and self._labelled(frame) else None
        expected = "" if hop is None else tables.matching(self.scheme, at.node, hop.header, self.links)
        verdict = self.network.verdict(at, frame)
        foreign = bool(verdict.entry) and not tables.is_ours(verdict.entry)
        if hop is not None and not foreign:
            step = explain.step(self.scheme, hop, self.destination, self.links)
            ended, arrivals = self._ended(step, hop, frame)
            return _shown(ended, bool(expected) and verdict.entry == expected), arrivals
        where = ", ".join(f"port {port} to {self._peer(at.node, port)}" for port in verdict.ports)
        reason = f"arrived at port {at.number} -> {where}"
        if not where:
            dropped = "drops: its entry names no port" if verdict.entry else "drops: no entry matches"
            reason = "asks the controller" if verdict.asks else dropped
        step = Step(self.fabric.name(at.node), reason, False, verdict.entry)
        peers = [self.fabric.peer(at.node, port) for port in verdict.ports]
        arrivals = [(peer, verdict.frame) for peer in peers if peer is not None]
        return _shown(step, bool(verdict.entry), expected), arrivals

    def _ended(self, step: Step, hop: Hop, frame: Frame) -> tuple[Step, list[Arrival]]:
        """Return the step of an action of the scheme, and where the frame arrives if its link is up."""
        if not isinstance(hop.action, Forward):
            return step, []
        peer = self.fabric.peer(hop.node, hop.action.port)
        if peer is None or self.fabric.link_at(hop.node, hop.action.port) in self.links.down:
            return Step(step.node, f"drops: port {hop.action.port} is down", False, step.entry), []
        return step, [(peer, self._sent(hop, hop.action, frame))]

    def _sent(self, hop: Hop, action: Forward, frame: Frame) -> Frame:
        """Return the frame as a node sends it by the scheme; a plain host writes no label itself."""
        if self.fabric.is_end_host(hop.node):
            hardware = mac.hardware(hop.node, action.port)
            to = address(self.scheme, self.destination) if self.ours else mac.hardware(self.destination, 1)
            return Frame(hardware, to, frame.nw_src, frame.nw_dst)
        header = action.apply(hop.header, self.scheme.tag_bits)
        is_switch = not self.fabric.is_server(hop.node)
        hardware = frame.dl_src if is_switch else mac.hardware(hop.node, action.port)
        both = self.framing.addresses(header, hardware)
        dl_dst, dl_src = int.from_bytes(both[:6], "big"), int.from_bytes(both[6:], "big")
        if self.framing.by_address:
            dl_dst = frame.dl_dst if is_switch else dl_dst
            return Frame(dl_src, dl_dst, frame.nw_src, header.label)
        return Frame(dl_src, dl_dst, frame.nw_src, frame.nw_dst)

    def _hop(self, node: int, header: Header) -> Hop:
        choices = self.scheme.act(node, header, self.links)
        taken = (one for one in choices if isinstance(one[0], Forward) and one[0].port == self.taken)
        action, weight = next(taken, None) or pick(choices, None, self.follow is Follow.heaviest)
        return Hop(node, header, action, weight)

    def _header(self, at: Port, frame: Frame) -> Header:
        label = frame.nw_dst.to_bytes(4, "big") if self.framing.by_address else frame.dl_dst.to_bytes(6, "big")
        return self.framing.header(label + frame.dl_src.to_bytes(6, "big"), at.number)

    def _labelled(self, frame: Frame) -> bool:
        """Whether the frame has a label of the scheme."""
        return self.framing.by_address or frame.dl_dst & mac.FIXED_MASK == mac.FIXED

    def _peer(self, node: int, port: int) -> str:
        peer = self.fabric.peer(node, port)
        return "no node" if peer is None else self.fabric.name(peer.node)


def _shown(step: Step, installed: bool | None = None, overrides: str = "") -> PathStep:
    return PathStep.from_json({**asdict(step), "installed": installed, "overrides": overrides})

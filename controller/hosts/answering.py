"""Answers to hosts that ask for hardware addresses, and announcements of those that have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from addressing.fields import ipv6, mac
from addressing.header import Field
from addressing.scheme import Scheme
from controller.beside import Beside
from controller.effects import PacketOut
from controller.hosts import arp, nd


class Answering:
    """What plain hosts have asked for; ``scheme`` is the one of a network of which all links are up."""

    def __init__(self, scheme: Scheme) -> None:
        self.fabric, self._base = scheme.fabric, scheme
        self._servers = {scheme.ipv4(server): server for server in range(self.fabric.servers)}
        self._servers |= {ipv6.embed(ip): server for ip, server in self._servers.items()}
        self._resolved: set[tuple[int, int]] = set()
        self.counts: Counter[str] = Counter()

    def packet_in(
        self, scheme: Scheme, beside: Beside, switch: int, port: int, frame: bytes
    ) -> Iterator[PacketOut]:
        """A frame from a host: answer requests for servers' hardware addresses (ARP, neighbour discovery),
        count everything else.  ``scheme`` knows the failures of now."""
        self.counts["packet_ins"] += 1
        request, end = self._parsed(frame), self.fabric.peer(switch, port)
        plain = port in beside.at(switch) or (end is not None and self.fabric.is_end_host(end.node))
        if request is None or not plain:
            self.counts["ignored"] += 1
            return
        target, mac_ = self._servers.get(request.target_ip), _later(beside, request.target_ip)
        if target is not None and (end is None or target != end.node):
            mac_ = address(scheme, target)
            self._resolved |= set() if end is None else {(end.node, target)}
        if mac_ is None:
            self.counts["unanswered"] += 1
            return
        self.counts["arp_replies"] += 1
        answer = arp.reply if isinstance(request, arp.Request) else nd.advertisement
        yield PacketOut(switch, port, answer(mac_, request.target_ip, request.sender_mac, request.sender_ip))

    def _parsed(self, frame: bytes) -> arp.Request | nd.Solicitation | None:
        """The request in a frame, for a version of IP that this lab uses."""
        versions = self._base.ip_versions
        return (arp.parse_request(frame) if 4 in versions else None) or (
            nd.parse_solicitation(frame) if 6 in versions else None
        )

    def announcements(self, before: Scheme, scheme: Scheme, switches: Container[int]) -> Iterator[PacketOut]:
        """Gratuitous ARP replies to the hosts at ``switches`` that have resolved a server whose label has
        changed since ``before``."""
        for host, target in sorted(self._resolved) if scheme is not before else ():
            mac_, end = address(scheme, target), next(self.fabric.ports(host), None)
            if end is not None and end[1].node in switches and mac_ != address(before, target):
                frame = arp.announcement(mac_, self._base.ipv4(target), mac.hardware(host, 1))
                yield PacketOut(end[1].node, end[1].number, frame)


def _later(beside: Beside, ip: int) -> int | None:
    """The hardware address of the host that came later and has an address."""
    return next((host.mac for host in beside.hosts if ip in (host.ip, ipv6.embed(host.ip))), None)


def address(scheme: Scheme, server: int) -> int:
    """The MAC address under which plain hosts reach a server."""
    if scheme.label_field is Field.ETH_DST:
        return mac.encode(scheme.label(server), scheme.label_bits)
    return mac.hardware(server, 1)

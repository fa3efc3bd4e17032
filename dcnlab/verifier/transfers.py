"""Transfer functions of header space analysis, of any network, as Hassel writes them.

A folder holds ``NAME.tf`` of each router and ``topology.tf`` (P. Kazemian, G. Varghese, N. McKeown: Header
Space Analysis, NSDI 2012).  :mod:`dcnlab.verifier.spaces` checks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Address
from itertools import count
from pathlib import Path

from dcnlab.verifier.atoms import Predicate

#: More classes of packets than this are refused.
MOST = 1 << 16
#: Where the destination address is: in headers of so many bits, its lowest bit.
_DESTINATION = {32: 0, 48: 0, 128: 48}
_WHOLE = (1 << 32) - 1


class Unreadable(ValueError):
    """A file is not what is expected; the text names it, in one line."""


@dataclass(frozen=True)
class Names:
    """The nodes by number."""

    names: Sequence[str]

    def name(self, node: int) -> str:
        """The name of a node."""
        return self.names[node]


@dataclass(frozen=True)
class Rule:
    """A rule of a transfer function: its rank among all, ports of arrival, the headers, what is written (value,
    mask), the ports by which copies leave, its text."""

    rank: int
    ins: tuple[int, ...]
    match: Predicate
    written: tuple[int, int]
    out: tuple[int, ...]
    text: str


@dataclass
class Transfers:
    """Transfer functions: per port its rules, the first that matches decides; and links between ports."""

    bits: int = 0
    routers: list[str] = field(default_factory=list)
    rules: dict[int, list[Rule]] = field(default_factory=dict)
    router_of: dict[int, int] = field(default_factory=dict)
    peers: dict[int, list[int]] = field(default_factory=dict)
    ranks: Iterator[int] = field(default_factory=count)

    @cached_property
    def staged(self) -> bool:
        """Whether routers have several tables: then ports inside them join these, and packets leave and enter
        by ports of different numbers."""
        return self.peers.keys().isdisjoint(port for ends in self.peers.values() for port in ends)

    @property
    def destinations(self) -> int:
        """The bits of the destination address; 0 where it is not known."""
        return _WHOLE << _DESTINATION[self.bits] if self.bits in _DESTINATION else 0

    def after(self, rule: Rule) -> list[int]:
        """The ports that copies enter, those that leave the network apart."""
        return list(dict.fromkeys(there for port in rule.out for there in self._next(port)))

    def _next(self, port: int) -> list[int]:
        """The ports that packets enter which leave by a port; none where that leads outside."""
        ends = self.peers.get(port) or ([port] if self.staged else [])
        return [there for there in ends if there in self.rules]

    # --- in words ---------------------------------------------------------------

    def node(self, port: int) -> int:
        """The router."""
        return self.router_of[port]

    def packet(self, place: tuple[int, int]) -> str:
        """The header in bits, the port, and the destination where that is known."""
        port, header = place
        known = self.bits in _DESTINATION
        to = f", to {IPv4Address(header >> _DESTINATION[self.bits] & _WHOLE)}" if known else ""
        return f"{header:0{self.bits}b} at port {port}{to}"

    def entry(self, place: tuple[int, int]) -> str:
        """The rule that decides about a header at a port."""
        port, header = place
        fitting = (rule for rule in self.rules[port] if not (header ^ rule.match[0]) & rule.match[1])
        return next(fitting).text


def read(topology: Path) -> Transfers:
    """The transfer functions beside a file of links.  Unreadable with one line."""
    network = Transfers()
    for path in sorted(topology.parent.glob("*.tf")):
        is_topology = path == topology
        for place, line in enumerate(path.read_text().splitlines(), 1):
            try:
                if is_topology:
                    _read_link(network, line)
                else:
                    _read_rule(network, line, len(network.routers))
            except (ValueError, IndexError) as error:
                raise Unreadable(f"{path}:{place}: not a rule of Hassel") from error
        if not is_topology:
            network.routers.append(path.stem)
    return network


def _read_rule(network: Transfers, line: str, router: int) -> None:
    kind, *rest = line.split("$")
    if kind not in ("fwd", "rw"):
        return
    match = rest[1].replace(",", "")
    network.bits = len(match)
    value, mask = int(match.replace("x", "0"), 2), int(match.replace("0", "1").replace("x", "0"), 2)
    change = 0, 0
    if kind == "rw":
        kept, into = (int(part.replace(",", ""), 2) for part in rest[2:4])
        change = into, (1 << len(match)) - 1 & ~kept
    ins, outs = _numbers(rest[0]), _numbers(rest[6])
    rule = Rule(next(network.ranks), ins, (value, mask), change, outs, rest[-2] if rest[-1] == "" else rest[-1])
    for port in ins:
        network.rules.setdefault(port, []).append(rule)
    for port in (*ins, *outs):
        network.router_of.setdefault(port, router)


def _read_link(network: Transfers, line: str) -> None:
    kind, *rest = line.split("$")
    if kind == "link":
        for port in _numbers(rest[0]):
            network.peers.setdefault(port, []).extend(_numbers(rest[6]))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, text.strip("[]").replace(" ", "").split(","))))

"""The part of a fabric that one machine runs, where several machines run one lab (:mod:`dcnlab.lab.machines`).

A link to a node on another machine is a VXLAN device (RFC 7348) in the place of a veth's end: the link's number
plus one is its VNI, and the lab has a UDP port of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcnlab.lab.options import mtu


@dataclass(frozen=True)
class LocalPart:
    """The nodes that this machine runs, and its links to others.

    ``peers`` has, by link to another machine, the address of that machine; ``address`` is this machine's,
    ``port`` the UDP port of the lab's tunnels, ``mtu`` that of all links of the lab.  ``configured``: servers
    that start without addresses have theirs by now, since the part is launched again, for the ``rejoins``-th
    time.  ``key`` authenticates
    the control frames of all agents, in hexadecimal digits.  ``machines`` has the
    addresses of all machines, this one is the ``number``-th; ``collectors`` has, by server that collects what
    switches see, the number of its machine.
    """

    nodes: frozenset[int]
    peers: Mapping[int, str]
    address: str
    port: int
    mtu: int = mtu.MTU
    configured: bool = False
    rejoins: int = 0
    key: str = field(default="", repr=False)
    number: int = 0
    machines: tuple[str, ...] = ()
    collectors: Mapping[int, int] = field(default_factory=dict)

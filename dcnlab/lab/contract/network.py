"""The network: what was added or removed, what links have carried, their impairments and queues.

Apart from links.py, which is all that commands which fail links import: each dataclass takes its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcnlab.lab.contract.answer import ABSENT, Answer


@dataclass(frozen=True, eq=False)
class NetworkChange(Answer):
    """What was added to the network of a lab, or removed from it: a ``kind`` and the ``names`` of its nodes.

    ``converged_ms`` is the time until all tables and agents agreed; a new host has an ``address``.
    """

    kind: str
    names: list[str]
    converged_ms: float
    address: str = field(default="", metadata=ABSENT)


@dataclass(frozen=True, eq=False)
class Queue(Answer):
    """A port with a queue: the packets and bytes that wait now, and the packets dropped since the launch."""

    node: str
    port: int
    to: str
    packets: int
    bytes: int
    dropped: int


@dataclass(frozen=True, eq=False)
class LinkCounts(Answer):
    """What links had carried at a time of the monotonic clock: by link the bytes from its end a to b and from b
    to a; and the links that were down."""

    at: float
    down: list[int]
    links: list[list[int]]


@dataclass(frozen=True, eq=False)
class LinkReadings(Answer):
    """What links had carried at several times, the oldest first, and the time ``now`` on the same clock."""

    now: float
    readings: list[LinkCounts]


@dataclass(frozen=True, eq=False)
class ImpairedLink(Answer):
    """The impairments of one link: its two nodes (and which it is of several), its number, the values, and what
    imposes each; ``sender``: only in the direction in which that node sends."""

    link: tuple[str, ...]
    number: int
    impairments: Mapping[str, str]
    by: Mapping[str, str]
    sender: str = field(default="", metadata=ABSENT)


@dataclass(frozen=True, eq=False)
class ImpairedLinks(Answer):
    """Links and their impairments."""

    links: list[ImpairedLink]

"""Tables, entries and paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from dcnlab.lab.contract.answer import ABSENT, Answer


@dataclass(frozen=True, eq=False)
class TableComparison(Answer):
    """The entries of a node as the scheme predicts them and as Open vSwitch holds them, and whether they are
    equal; ``installed`` and ``equal`` are None for servers.

    ``by_kernel``: with the switch fast path, the packets that the kernel has forwarded by each installed entry.
    """

    node: str
    predicted: list[str]
    installed: list[str] | None
    equal: bool | None
    by_kernel: list[int] | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, eq=False)
class FlowEntry(Answer):
    """An entry of a switch, of any controller, with its counters; ``duration`` is in seconds."""

    table: int
    priority: int
    match: str
    actions: str
    cookie: str
    options: str
    packets: int
    bytes: int
    duration: float


@dataclass(frozen=True, eq=False)
class FlowEntries(Answer):
    """The entries of a switch; ``at`` is when they were read, in seconds of the monotonic clock."""

    switch: str
    at: float
    flows: list[FlowEntry]


@dataclass(frozen=True, eq=False)
class PathBranch(Answer):
    """One of several next hops at a node, and its probability."""

    port: int
    to: str
    weight: float


@dataclass(frozen=True, eq=False)
class PathStep(Answer):
    """A node on a packet's path: why it does what it does, the ``entry`` that decides, the ``branches`` where
    several next hops have weights, whether a switch has the entry ``installed`` (None at servers), and which
    entry of the scheme that one ``overrides``."""

    node: str
    reason: str
    delivered: bool
    entry: str
    branches: list[PathBranch]
    installed: bool | None
    overrides: str


@dataclass(frozen=True, eq=False)
class Captured(Answer):
    """Packets in a file: the node (or ``controller``), the port (None: all), the file and its size in bytes."""

    node: str
    port: int | None
    file: str
    bytes: int

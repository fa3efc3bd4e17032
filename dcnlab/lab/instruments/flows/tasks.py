"""What the programs that send and receive flows are asked for, and what they print: a line of JSON each."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReceiveTask:
    """Where a receiver listens (``ends``: namespace and address), and the ``sizes`` of all flows."""

    transport: str
    #: The congestion control; empty: the kernel's default.
    cc: str
    sizes: list[int]
    ends: list[tuple[str, str]]


@dataclass(frozen=True)
class Listening:
    """The ports of a receiver, in the order of the ends of its task."""

    ports: list[int]


@dataclass(frozen=True)
class Received:
    """How many flows have all their bytes (``done``), and how many bytes have come; at the end also when each
    was complete, in seconds of the machine's clock."""

    done: int
    bytes: int
    times: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class SendTask:
    """The ``flows`` of a sender in the order of their beginnings: when each begins in seconds, its source, its
    target, its bytes.  ``numbers`` are those by which the receivers know them."""

    transport: str
    cc: str
    #: Seconds after the last beginning in which a flow must be complete.
    timeout: float
    #: Bits per second of a UDP flow.
    rate: float
    #: Namespace and address of each source; of each target also the port.
    sources: list[tuple[str, str]]
    targets: list[tuple[str, str, int]]
    numbers: list[int]
    flows: list[tuple[float, int, int, int]]
    #: When the first may begin, in seconds of the machine's clock; None: now.
    start: float | None


@dataclass(frozen=True)
class Ended:
    """How many flows of a sender have ended."""

    ended: int


@dataclass(frozen=True)
class Report:
    """What a sender reports of its flows in the order of its task: when they began, in seconds of the clock
    there, why some failed, and how late the latest percent began."""

    begun: list[float]
    errors: list[tuple[int, str]]
    late: float

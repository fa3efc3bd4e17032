"""What the kernel knows of TCP connections while they send (TCP_INFO), as ``ss`` prints it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dcnlab.lab.contract.values import Figures

#: Seconds until ``ss`` has answered.
_PATIENCE = 5.0
_FIELD = re.compile(r"\b([a-z_]+):([\d.]+)")


@dataclass(frozen=True)
class TcpInfo:
    """A connection, or several together: bytes acknowledged, sent, and sent again; milliseconds in which it had
    data under way (busy), and in which the receiver's window or the sender's buffer held it back; round-trip
    times in milliseconds, the congestion window and the receiver's window in bytes."""

    acked: int
    sent: int
    again: int
    busy_ms: float
    receiver_ms: float
    buffer_ms: float
    rtt_ms: float
    shortest_rtt_ms: float
    congestion_window: int
    receive_window: int

    @classmethod
    def parse(cls, line: str) -> TcpInfo:
        """Read a line of ``ss -ti``; what it leaves out is 0."""
        values = {name: float(value) for name, value in _FIELD.findall(line)}

        def count(name: str) -> int:
            return int(values.get(name, 0))

        return cls(
            count("bytes_acked"), count("bytes_sent"), count("bytes_retrans"),
            values.get("busy", 0.0), values.get("rwnd_limited", 0.0), values.get("sndbuf_limited", 0.0),
            values.get("rtt", 0.0), values.get("minrtt", 0.0), count("cwnd") * count("mss"), count("snd_wnd"),
        )  # fmt: skip

    @classmethod
    def together(cls, some: Iterable[TcpInfo]) -> TcpInfo:
        """Several connections beside each other: sums, and means of times."""
        rows = [tuple(vars(one).values()) for one in some]
        sums = dict(zip(cls.__dataclass_fields__, map(sum, zip(*rows, strict=True)), strict=True))
        means: Figures = {name: sums[name] / len(rows) for name in sums if name.endswith("_ms")}
        return cls(**{**sums, **means})


def read(inside: Callable[[list[str]], list[str]], address: str, port: str) -> dict[int, TcpInfo]:
    """The connections from a server to a port of an address, by their own port; ``inside`` makes the command
    line that runs there."""
    host = f"[{address}]" if ":" in address else address
    command = inside(["ss", "-tinHO", "state", "established", "dst", host, "dport", "=", f":{port}"])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    lines = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    return {int(one[2].rpartition(":")[2]): TcpInfo.parse(one[4]) for one in lines if len(one) == 5}

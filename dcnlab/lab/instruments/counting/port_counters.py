"""The counters of a switch's port, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class PortCounters:
    """What the port of a switch has received (rx) and sent (tx) since the launch, and the node at its other
    end."""

    switch: str
    port: int
    to: str
    rx_packets: int
    rx_bytes: int
    rx_errors: int
    rx_dropped: int
    tx_packets: int
    tx_bytes: int
    tx_errors: int
    tx_dropped: int

    @property
    def counts(self) -> dict[str, int]:
        """The counters by name."""
        return {name: value for name, value in asdict(self).items() if name[2:3] == "_"}

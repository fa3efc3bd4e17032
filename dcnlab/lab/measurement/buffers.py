"""How full the buffers of agents are, and how many credits are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

#: Two virtual channels by number (CLOT, section "flow control"); others are numbered from 1.
_CHANNELS = ("adaptive", "escape")


@dataclass(frozen=True)
class ChannelLevel:
    """A virtual channel between a server and a neighbour one hop away: the packets from there that wait in the
    server's buffer, and the credits for frames to there that are used.  ``limit`` holds for both.

    Without credits the buffer of a port is for all neighbours: ``neighbour`` and ``channel`` are empty.
    """

    server: str
    port: int
    neighbour: str
    channel: str
    waiting: int
    used: int
    limit: int

    @property
    def idle(self) -> bool:
        """Whether nothing waits and all credits are free."""
        return not self.waiting and not self.used


@dataclass(frozen=True)
class BuffersResult(Result):
    """All virtual channels that have carried packets."""

    channels: list[ChannelLevel]

    @property
    def waiting(self) -> int:
        """Packets in all buffers."""
        return sum(one.waiting for one in self.channels)

    @property
    def exhausted(self) -> int:
        """Channels without a free credit."""
        return sum(one.used >= one.limit for one in self.channels)

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("waiting", "exhausted")

    def table(self) -> Table | None:
        rows = [
            (one.server, one.port, one.neighbour, one.channel, one.waiting, one.used, one.limit)
            for one in self.channels
            if not one.idle
        ]
        if not rows:
            return None
        ends, units = (
            ("server", "port", "neighbour", "channel"),
            ("waiting (packets)", "used (credits)", "limit"),
        )
        return Table((*ends, *units), rows)

    def notes(self) -> Sequence[str]:
        """A line on the whole."""
        if not self.channels:
            return ["no packet has been in a limited buffer (`--buffers`, `--flow-control credits`)"]
        return [
            f"{self.waiting} packets wait; {self.exhausted} of {len(self.channels)} channels have no credit"
        ]


class BuffersProbe(Probe):
    """The agents of one machine."""

    def levels(self) -> list[ChannelLevel]:
        """How full their buffers are."""
        agents, name = self.lab.running.agents, self.lab.fabric.name
        escape = self.lab.config.virtual_channels == "escape"
        reported = agents.buffers() if agents is not None and self.lab.config.frames else {}
        return [
            ChannelLevel(
                name(node), port, name(neighbour) if neighbour >= 0 else "",
                (_CHANNELS[channel] if escape else str(channel + 1)) if neighbour >= 0 else "",
                waiting, used, limit,
            )
            for node, rows in reported.items()
            for port, neighbour, channel, waiting, used, limit in rows
        ]  # fmt: skip


@dataclass(frozen=True)
class Buffers(Measurement[BuffersResult]):
    """Show how full the limited buffers of agents are, and how many credits are used."""

    name: ClassVar[str] = "buffers"
    timed: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("dcnlab buffers LAB", "dcnlab buffers LAB --json")

    def run(self, lab: MeasuredLab, context: Context) -> BuffersResult:
        with context.probes(BuffersProbe) as probes:
            levels = [one for channels in at_once(probes, lambda probe: probe.levels()) for one in channels]
        return BuffersResult(sorted(levels, key=lambda one: lab.fabric.index(one.server)))

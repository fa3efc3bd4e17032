"""The labels that servers have learned, compared with those of the scheme."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import INTERRUPTED, Result

if TYPE_CHECKING:
    from addressing.schemes.wmgr import Wmgr
    from dcnlab.lab.network.measured_lab import MeasuredLab

#: Servers between which echo requests are sent, at most.
_ENDS = 16
#: Seconds between two looks at how many have their labels.
_LOOK = 0.2


@dataclass(frozen=True)
class Round:
    """Labelling after a change: its duration, frames by kind, labels that changed (None: not counted),
    whether all labels are those of the scheme, and echo requests sent and lost."""

    what: str
    ms: float
    frames: dict[str, int]
    changed: int | None
    equal: bool
    pairs: int
    lost: int


@dataclass(frozen=True)
class LabelResult(Result):
    """The network, and one round: what ``dcnlab label`` shows for a topology."""

    topology: str
    nodes: int
    links: int
    root: str
    label_bits: int
    rounds: list[Round]
    #: Why not everything was compared; empty if it was.
    partial: str = ""

    @property
    def ms(self) -> float:
        """Milliseconds from the last change of a link to the last label."""
        return self.rounds[-1].ms

    @property
    def lost(self) -> int:
        """Echo requests without an answer."""
        return self.rounds[-1].lost

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("ms", "lost")


@dataclass(frozen=True)
class Label(Measurement[LabelResult]):
    """Compare the labels that servers have learned with those of WMGR on the links that are up."""

    name: ClassVar[str] = "label"
    command: ClassVar[bool] = False
    interruptible: ClassVar[bool] = True

    def run(self, lab: MeasuredLab, context: Context) -> LabelResult:
        from addressing.schemes.wmgr import Wmgr
        from dcnlab.lab.autoconfig.labelling import Labelling

        scheme, fabric = lab.scheme, lab.fabric
        if not isinstance(scheme, Wmgr) or not lab.config.autoconfigure:
            raise UsageError(
                "the servers of this lab were given their labels: start one with --scheme wmgr --autoconfigure"
            )
        assert lab.configured is not None
        first_ms = lab.configured.ms
        context.started()
        with context.probes(LabelProbe) as probes:
            seen = at_once(probes, lambda probe: probe.compare(first_ms))
        if wrong := sorted(node for one in seen for node in one.wrong):
            raise LabError(Labelling().wrong(scheme, wrong))
        frames: Counter[str] = Counter()
        for one in seen:
            frames.update(one.frames)
        whole = Round(
            what=f"{len(lab.links.down)} links down", ms=max(one.ms for one in seen), frames=dict(frames),
            changed=None, equal=not any(one.waiting for one in seen), pairs=sum(one.sent for one in seen),
            lost=sum(one.lost for one in seen),
        )  # fmt: skip
        counts = (fabric.size, len(fabric.link_ends), fabric.name(scheme.root_node), scheme.label_bits)
        partial = INTERRUPTED if any(one.waiting or one.sent < one.pairs for one in seen) else ""
        return LabelResult(fabric.spec, *counts, [whole], partial)


@dataclass(frozen=True)
class Compared:
    """The servers of one machine: the milliseconds until the last had its label, and those with another.
    ``waiting``: it was interrupted before all had one.  Echo requests of so many ``pairs`` sent and lost."""

    ms: float
    waiting: bool
    wrong: list[int]
    frames: dict[str, int]
    pairs: int
    sent: int
    lost: int


class LabelProbe(Probe):
    """The servers of one machine."""

    def compare(self, configured_ms: float) -> Compared:
        """Wait until they have their labels, and send echo requests from them; the last autoconfiguration has
        taken ``configured_ms``."""
        from addressing.schemes.wmgr import Wmgr
        from dcnlab.lab.autoconfig import labelling

        lab, scheme, agents = self.lab, self.lab.scheme, self.lab.running.agents
        assert isinstance(scheme, Wmgr)  # the measurement refuses others
        if agents is None:  # switches only
            return Compared(0.0, False, [], {}, 0, 0, 0)
        last = self._last_label(labelling.expected(scheme, lab.running.servers))
        interrupted = last is None and self.context.stopped()
        wrong = labelling.mislabelled(agents, scheme, lab.running.servers) if last is None else []
        change = lab.link_state.last_change
        ms = configured_ms if change is None or last is None else round((last - change) * 1000, 3)
        frames = dict(labelling.frames(agents))
        if last is None:
            return Compared(ms, interrupted, [] if interrupted else wrong, frames, 0, 0, 0)
        return Compared(ms, False, [], frames, *self._echoes(scheme))

    def _last_label(self, wanted: Mapping[int, Any]) -> float | None:
        """When the last server took its label; None if not all do in time, or when the client stops it."""
        from dcnlab.lab.autoconfig import labelling

        agents = self.lab.running.agents
        assert agents is not None
        end, last = time.monotonic() + labelling.TIMEOUT, None
        while last is None and time.monotonic() < end and not self.context.stopped():
            labels = agents.labels
            have = sum(server in labels and labels[server] == label for server, label in wanted.items())
            self.context.progress(have, len(wanted), "waiting for labels")
            last = agents.wait_labels(wanted, _LOOK)
        return last

    def _echoes(self, scheme: Wmgr) -> tuple[int, int, int]:
        """How many pairs of servers of one component begin here, and echo requests sent and lost."""
        from dcnlab.lab.instruments.packets.echo import ping_pairs

        words, common = scheme.embedding.words, scheme.embedding.common
        ends = range(0, scheme.fabric.servers, -(-scheme.fabric.servers // _ENDS))
        here = filter(self.runs, ends)
        pairs = [(a, b) for a in here for b in ends if a != b and words[a][:common] == words[b][:common]]
        report = ping_pairs(
            [(self.lab.endpoint(a), self.lab.endpoint(b)) for a, b in pairs],
            progress=lambda done: self.context.progress(done, len(pairs), "pinging"),
            stopped=self.context.stopped,
        )
        return len(pairs), report.sent, len(report.lost)

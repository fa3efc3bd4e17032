"""The labels that servers have learned, compared with those of the scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from addressing.schemes.wmgr import Wmgr
    from dcnlab.lab.running.lab import RunningLab

#: Servers between which echo requests are sent, at most.
_ENDS = 16


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

    def run(self, lab: RunningLab, context: Context) -> LabelResult:
        from addressing.schemes.wmgr import Wmgr
        from dcnlab.lab.autoconfig import labelling

        running, scheme = lab.running, lab.scheme
        if not isinstance(scheme, Wmgr) or not running.config.autoconfigure or running.agents is None:
            raise UsageError(
                "the servers of this lab were given their labels: start one with --scheme wmgr --autoconfigure"
            )
        last = running.agents.wait_labels(labelling.expected(scheme), labelling.TIMEOUT)
        if last is None:
            raise LabError(labelling.mismatch_message(running.agents, scheme))
        change = lab.link_state.last_change
        ms = running.aacm["ms"] if change is None else round((last - change) * 1000, 3)
        sent, lost = _echoes(lab, scheme)
        one = Round(
            what=f"{len(lab.link_state.state().down)} links down", ms=ms,
            frames=dict(labelling.frames(running.agents)), changed=None, equal=True, pairs=sent, lost=lost,
        )  # fmt: skip
        fabric = scheme.fabric
        counts = (fabric.size, len(fabric.link_ends), fabric.name(scheme.root_node), scheme.label_bits)
        return LabelResult(fabric.spec, *counts, [one])


def _echoes(lab: RunningLab, scheme: Wmgr) -> tuple[int, int]:
    """Echo requests sent and lost between some servers of the same component."""
    from dcnlab.lab.instruments.echo import ping_pairs

    words, common = scheme.embedding.words, scheme.embedding.common
    ends = range(0, scheme.fabric.servers, -(-scheme.fabric.servers // _ENDS))
    pairs = [(a, b) for a in ends for b in ends if a != b and words[a][:common] == words[b][:common]]
    report = ping_pairs((lab.endpoint(a), lab.endpoint(b)) for a, b in pairs)
    return report.sent, len(report.lost)

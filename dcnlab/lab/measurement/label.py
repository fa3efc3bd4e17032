"""The labels that servers have learned, compared with those of the scheme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from addressing.schemes.wmgr import Wmgr
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network

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
        return self._result(lab.scheme, [self.measure_part(lab, context)])

    def measure_part(self, lab: RunningLab, context: Context) -> dict[str, Any]:
        """Compare the labels of this machine's servers, and send echo requests from them."""
        from addressing.schemes.wmgr import Wmgr
        from dcnlab.lab.autoconfig import labelling

        running, scheme = lab.running, lab.scheme
        if not isinstance(scheme, Wmgr) or not running.config.autoconfigure or running.agents is None:
            raise UsageError(
                "the servers of this lab were given their labels: start one with --scheme wmgr --autoconfigure"
            )
        wanted = labelling.expected(scheme, running.servers)
        last = running.agents.wait_labels(wanted, labelling.TIMEOUT)
        wrong = labelling.mislabelled(running.agents, scheme, running.servers) if last is None else []
        change = lab.link_state.last_change
        ms = running.aacm["ms"] if change is None or last is None else round((last - change) * 1000, 3)
        sent, lost = (0, 0) if wrong else _echoes(lab, scheme)
        counted = {"frames": labelling.frames(running.agents), "sent": sent, "lost": lost}
        return {"ms": ms, "wrong": wrong, "down": len(lab.link_state.state().down), **counted}

    def conclude(self, network: Network, parts: Sequence[Any]) -> LabelResult:
        return self._result(network.scheme, parts)

    @staticmethod
    def _result(scheme: Scheme, parts: Sequence[Any]) -> LabelResult:
        """From the parts of all machines; LabError when servers have other labels."""
        from addressing.schemes.wmgr import Wmgr
        from dcnlab.lab.autoconfig.labelling import Labelling

        assert isinstance(scheme, Wmgr)  # every part refuses others
        if wrong := sorted(node for part in parts for node in part["wrong"]):
            raise LabError(Labelling().wrong(scheme, wrong))
        frames: Counter[str] = Counter()
        for part in parts:
            frames.update(part["frames"])
        one = Round(
            what=f"{parts[0]['down']} links down", ms=max(part["ms"] for part in parts), frames=dict(frames),
            changed=None, equal=True, pairs=sum(part["sent"] for part in parts),
            lost=sum(part["lost"] for part in parts),
        )  # fmt: skip
        fabric = scheme.fabric
        counts = (fabric.size, len(fabric.link_ends), fabric.name(scheme.root_node), scheme.label_bits)
        return LabelResult(fabric.spec, *counts, [one])


def _echoes(lab: RunningLab, scheme: Wmgr) -> tuple[int, int]:
    """Echo requests sent and lost from servers of this machine to some servers of the same component."""
    from dcnlab.lab.instruments.echo import ping_pairs

    words, common = scheme.embedding.words, scheme.embedding.common
    ends = range(0, scheme.fabric.servers, -(-scheme.fabric.servers // _ENDS))
    here = filter(lab.running.here, ends)
    pairs = [(a, b) for a in here for b in ends if a != b and words[a][:common] == words[b][:common]]
    report = ping_pairs((lab.endpoint(a), lab.endpoint(b)) for a, b in pairs)
    return report.sent, len(report.lost)

"""What the agents of a lab have reported to it, message by message.  Pure."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostagent.linux.channel import Message

if TYPE_CHECKING:
    from hostagent.protocols.labelling.frames import Label

_log = logging.getLogger(__name__)


@dataclass
class Reported:
    """The state that the supervisor's events add up to."""

    #: (server, error) pairs in the order of their events; an agent that was started again has none.
    failures: list[tuple[int | None, str]] = field(default_factory=list)
    #: Why agents, some or all, forward without the fast path that was asked for; empty if none do.
    no_fast_path: str = ""
    #: The orders to start agents that were carried out.
    ready: int = 0
    #: The process of each agent that has been ready.
    pids: dict[int, int] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    #: By server the second-level supervisor that is stopped, and with it the orders to the agent.
    stopped_parents: dict[int, int] = field(default_factory=dict)
    #: Answers that nobody has taken yet, by the serial number of the order.
    answers: dict[int, Message] = field(default_factory=dict)
    #: The coordinates that each server has reported, and when.
    coordinates: dict[int, tuple[tuple[int, ...], float]] = field(default_factory=dict)
    #: The label that each server has learned last, and when.
    labels: dict[int, tuple[Label, float]] = field(default_factory=dict)
    #: How AACM went.
    outcome: Message | None = None

    @property
    def failed(self) -> set[int]:
        """The servers whose agents have ended."""
        return {node for node, _ in self.failures if node is not None}

    def forget(self, servers: Collection[int]) -> set[int]:
        """Those of ``servers`` whose agents have ended, which are to start again: they count as new."""
        ended = self.failed.intersection(servers)
        self.failures = [failure for failure in self.failures if failure[0] not in ended]
        for node in ended:
            self.pids.pop(node, None)
        return ended

    def add(self, message: Message, now: float) -> None:
        """Take in an event that came at ``now`` (seconds), or an answer."""
        if "serial" in message:
            self.answers[message["serial"]] = message
        elif message["event"] == "configured":
            self.coordinates[message["node"]] = tuple(message["address"]), now
        elif message["event"] == "labelled":
            from hostagent.protocols.labelling.frames import Label

            word, prefix, length = message["label"]
            self.labels[message["node"]] = Label(tuple(word), prefix, length), message["at"]
        elif message["event"] == "outcome":
            self.outcome = message
        elif message["event"] == "no-fast-path":
            self.no_fast_path = message["reason"]
        else:
            self._add_process(message)

    def _add_process(self, message: Message) -> None:
        """Take in an event of the agents' processes."""
        if message["event"] == "stopped":
            self.stopped.update(message["nodes"])
            if "parent" in message:
                self.stopped_parents.update(dict.fromkeys(message["nodes"], message["parent"]))
            _log.warning("agents stopped: %s", message["nodes"])
        elif message["event"] == "continued":
            self.stopped.difference_update(message["nodes"])
            for node in message["nodes"]:
                self.stopped_parents.pop(node, None)
        elif message["event"] == "failed":
            self.stopped.discard(message["node"])
            self.stopped_parents.pop(message["node"], None)
            self.failures.append((message["node"], message["error"]))
            _log.error("agent %s: %s", message["node"], message["error"])
        elif message["event"] == "ready":
            if "node" in message:
                self.pids[message["node"]] = message["pid"]
            else:
                self.ready += 1


def frames_sent(agents: Iterable[Mapping[str, int]], title: str) -> Counter[str]:
    """The sum of the agents' counters of frames sent for a protocol, by kind, and of those ``retransmitted``.

    ``title`` is how the protocol's counters begin."""
    total: Counter[str] = Counter()
    for counts in agents:
        for name, count in counts.items():
            if name.startswith(f"{title} sent ") or name == f"{title} retransmitted":
                total[name.removeprefix(f"{title} ").removeprefix("sent ")] += count
    return total

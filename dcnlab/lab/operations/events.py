"""The events of a lab, as they are, and as they come."""

from __future__ import annotations

import select
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument
from dcnlab.lab.contract.lab import Events as Answer
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.events.journal import Journal

#: Seconds between two looks at whether the client is still there.
_LOOK_INTERVAL = 1.0
#: Events in one message.
_BATCH = 500


@dataclass(frozen=True)
class Events(Operation[Answer]):
    """What has happened in the lab after event number ``after``; with ``follow`` also what happens.

    Events travel as reports of progress.
    """

    name: ClassVar[str] = "events"
    limit: ClassVar[float | None] = None
    by_hand: ClassVar[bool] = True
    records: ClassVar[bool] = False

    follow: bool = argument(
        "Print new events as they happen, until the lab ends.", default=False, flag="--follow -f"
    )
    after: int = argument("Only events after the one with this number.", default=0, low=0)
    kinds: tuple[str, ...] = argument(
        "Only events of this kind, such as link or converged; repeat it for more.", default=(), flag="--kind"
    )

    def perform(self, lab: Coordinator, call: Call) -> Answer:
        from dcnlab.lab.events.kinds import KINDS

        if unknown := sorted(set(self.kinds) - KINDS.keys()):
            raise UsageError(f"there is no kind of event {unknown[0]!r}: known are {', '.join(KINDS)}")
        newest = self._send_since(lab.journal, call, self.after)
        if self.follow:
            with lab.journal.following():
                self._follow(lab.journal, call, newest)
        return Answer(lab.journal.last, lab.journal.dropped)

    def _follow(self, journal: Journal, call: Call, newest: int) -> None:
        """Go on until the lab ends or the client leaves."""
        while not _gone(call):
            if journal.wait(newest, _LOOK_INTERVAL):
                newest = self._send_since(journal, call, newest)
            elif journal.closed:
                return

    def _send_since(self, journal: Journal, call: Call, after: int) -> int:
        """Send what came after an event; the number of the newest event that there was."""
        records = journal.since(after)
        newest = records[-1].number if records else after
        wanted = {*self.kinds, "dropped"}
        chosen = [r.to_json() for r in records if not self.kinds or r.kind in wanted]
        for start in range(0, len(chosen), _BATCH):
            call.progress(chosen[start : start + _BATCH])
        return newest


def _gone(call: Call) -> bool:
    """Whether the client has disconnected."""
    poll = select.poll()
    poll.register(call.channel.socket, select.POLLRDHUP)
    return bool(poll.poll(0))

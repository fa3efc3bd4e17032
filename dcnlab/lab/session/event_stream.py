"""Send the events of a lab to a client, as they are, and as they come."""

from __future__ import annotations

import select
from typing import Any

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import KINDS

#: Seconds between two looks at whether the client is still there.
_LOOK_INTERVAL = 1.0
#: Events in one message.
_BATCH = 500


def send(journal: Journal, call: Call) -> Any:
    """Send the events after number ``after`` of the request, of its ``kinds``; with ``follow`` go on until the
    lab ends or the client leaves.  The result has the number of the newest event and how many were dropped."""
    request = call.request
    after, kinds = int(request.get("after", 0)), frozenset(request.get("kinds", ()))
    if unknown := sorted(kinds - KINDS.keys()):
        raise UsageError(f"there is no kind of event {unknown[0]!r}: known are {', '.join(KINDS)}")
    newest = _send_since(journal, call, after, kinds)
    if request.get("follow"):
        with journal.following():
            _follow(journal, call, newest, kinds)
    return {"last": journal.last, "dropped": journal.dropped}


def _follow(journal: Journal, call: Call, newest: int, kinds: frozenset[str]) -> None:
    while not _gone(call):
        if journal.wait(newest, _LOOK_INTERVAL):
            newest = _send_since(journal, call, newest, kinds)
        elif journal.closed:
            return


def _send_since(journal: Journal, call: Call, after: int, kinds: frozenset[str]) -> int:
    """Send what came after an event; the number of the newest event that there was."""
    records = journal.since(after)
    newest = records[-1].number if records else after
    chosen = [r.to_json() for r in records if not kinds or r.kind in kinds or r.kind == "dropped"]
    for start in range(0, len(chosen), _BATCH):
        call.progress(chosen[start : start + _BATCH])
    return newest


def _gone(call: Call) -> bool:
    """Whether the client has disconnected."""
    poll = select.poll()
    poll.register(call.channel.socket, select.POLLRDHUP)
    return bool(poll.poll(0))

"""The link state of a lab: what the journal says of links is what the lab says of them."""

from __future__ import annotations

import pytest

from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import LinkChanged
from dcnlab.lab.running.link_state import LinkStateTracker
from topos import registry
from topos.graph import LinkState

FABRIC = registry.fabric("bcube:4,1")
H3 = 3
#: h3-s0.
LINK = FABRIC.link_at(H3, 1)


@pytest.mark.xfail(strict=True, reason="link state has several holders, which disagree")
@pytest.mark.parametrize("order", [("carrier", "silence"), ("silence", "carrier")], ids=" first".join)
def test_a_link_that_comes_back_at_a_silent_agent_alternates(order: tuple[str, str]) -> None:
    """It was cut while the agent at its end was paused; now it is restored, and the agent continues."""
    journal, link = Journal(), FABRIC.link(LINK)
    tracker = LinkStateTracker(FABRIC, lambda state: None, journal)
    tracker.report_silence([H3])
    for end in (link.a, link.b):
        tracker.report(end, False)
    for cause in order:
        if cause == "carrier":
            for end in (link.a, link.b):
                tracker.report(end, True)
        else:
            tracker.report_silence([])
    events = [record.event for record in journal.since(0, ("link",))]
    told = [event.up for event in events if isinstance(event, LinkChanged) and event.link_number == LINK]
    assert told == [False, True]
    assert tracker.state() == LinkState()

"""The link state of a lab: what the journal says of links is what the lab says of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.machine import Apply, Observation
from dcnlab.lab.coordinator.link_state.driver import LinkStateDriver
from dcnlab.lab.coordinator.link_state.state_machine import LinkStateMachine
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal, Record
from dcnlab.lab.events.kinds import Converged, LinkChanged
from tests.ovs import poll
from topos import registry
from topos.graph import LinkState, Port

FABRIC = registry.fabric("bcube:4,1")
#: Links of h3, and the ends of the first.
S0, S7 = (FABRIC.link_at(3, port) for port in (1, 2))
ENDS = (FABRIC.link(S0).a, FABRIC.link(S0).b)
NOTHING = Observation(frozenset(), frozenset())


class Following:
    """A driver, and what its machine was to follow."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.updates: list[Apply] = []
        #: Errors of the next updates.
        self.trouble: list[str] = []
        self.driver = LinkStateDriver(FABRIC, self._apply, self.journal)
        self.driver.start()

    def _apply(self, update: Apply) -> object:
        self.updates.append(update)
        if self.trouble:
            raise RuntimeError(self.trouble.pop())
        return update.revision

    def carrier(self, up: bool) -> None:
        """Both ends of h3-s0 see the carrier go or come."""
        for end in ENDS:
            self.driver.report(end, up)

    def events(self, link: int) -> list[LinkChanged]:
        return links_of(self.journal.since(0), link)


def links_of(records: Sequence[Record], link: int) -> list[LinkChanged]:
    events = [record.event for record in records]
    return [event for event in events if isinstance(event, LinkChanged) and event.link_number == link]


@pytest.fixture
def following() -> Iterator[Following]:
    started = Following()
    yield started
    started.driver.stop()


@pytest.mark.parametrize("order", list(itertools.permutations(["carrier", "silence"])), ids=" before ".join)
def test_a_link_at_a_silent_agent_comes_up_once_when_its_last_cause_ends(
    following: Following, order: tuple[str, str]
) -> None:
    """It was cut while the agent at its end was paused; it is restored, and the agent continues."""
    driver = following.driver
    driver.report_silence([3])
    following.carrier(False)
    driver.await_state()
    ends: dict[str, Callable[[], None]] = {
        "carrier": lambda: following.carrier(True), "silence": lambda: driver.report_silence([])
    }  # fmt: skip
    ends[order[0]]()
    driver.await_state()
    assert driver.state().down == ({S0, S7} if order[0] == "carrier" else {S0})
    ends[order[1]]()
    driver.await_state()
    told = [(event.up, event.cause, event.reporter) for event in following.events(S0)]
    last = ("carrier", "s0:4") if order[1] == "carrier" else ("silent agent", "h3")
    assert told == [(False, "silent agent", "h3"), (True, *last)]
    assert following.events(S0)[-1].text().startswith("h3-s0 came up: ")
    assert driver.state() == LinkState()


def test_convergence_is_counted_from_the_first_change_that_was_not_followed(following: Following) -> None:
    """What changes nothing, as a carrier at a silent agent, is no change."""
    driver, journal = following.driver, following.journal
    driver.report_silence([3])
    driver.await_state()
    following.carrier(False)
    following.carrier(True)
    driver.await_state()
    number = journal.last
    driver.report_silence([])
    driver.await_state()
    records = journal.since(number)
    assert [record.kind for record in records] == ["link", "link", "converged"]
    (converged,) = [record.event for record in records if isinstance(record.event, Converged)]
    measured = 1000 * (records[-1].clock - records[0].clock)
    assert converged.ms <= measured + 1
    assert [update.revision for update in following.updates] == [1, converged.revision] == [1, 2]
    assert following.updates[-1].told == 1


def test_who_waits_for_a_round_that_fails_is_told_why_and_the_next_is_tried(following: Following) -> None:
    following.trouble.append("the controller has ended")
    driver = following.driver
    driver.report(Port(0, 1), False)
    with pytest.raises(LabError, match="the controller has ended"):
        driver.wait_for(frozenset([FABRIC.link_at(0, 1)]), up=False)
    driver.report(Port(1, 1), False)
    driver.wait_for(frozenset([FABRIC.link_at(1, 1)]), up=False)
    assert [update.told for update in following.updates] == [None, None]


def test_a_link_that_is_up_again_is_reached_when_its_failure_is_followed_no_more() -> None:
    machine, (port, _) = LinkStateMachine(FABRIC), ENDS
    machine.start(0.0)
    (failure,) = (one for one in machine.port(port, False, 1.0) if isinstance(one, Apply))
    machine.port(port, True, 1.0)
    assert not machine.has_reached(frozenset([S0]), up=True)  # the failure is being applied
    (repair,) = (one for one in machine.applied(failure, None, "", 2.0) if isinstance(one, Apply))
    assert not machine.has_reached(frozenset([S0]), up=True)
    machine.applied(repair, None, "", 3.0)
    assert machine.has_reached(frozenset([S0]), up=True)


def test_old_news_of_a_port_change_nothing(following: Following) -> None:
    """They were read before what was reported meanwhile."""
    following.driver.report(ENDS[0], False, clock=2.0)
    following.driver.report(ENDS[0], True, clock=1.0)
    assert following.driver.state().down == {S0}


def test_links_that_are_down_elsewhere_are_distributed_and_not_reported_as_our_own(
    following: Following,
) -> None:
    driver = following.driver
    driver.report_elsewhere([1, 2])
    driver.await_state()
    driver.report(FABRIC.link(2).a, False)
    assert driver.own(NOTHING, timeout=10).carriers == {FABRIC.link(2).a}
    driver.report_elsewhere([])
    driver.await_state()
    assert driver.state() == LinkState(frozenset({2}))
    assert [update.down for update in following.updates] == [{1, 2}, {2}]


def test_ends_that_lead_to_an_absent_machine_are_no_failures_of_this_one(following: Following) -> None:
    """One that the user cuts meanwhile is down here too."""
    driver = following.driver
    (change,) = driver.report_absent([1, 2])
    assert (change.links, change.up) == ({1, 2}, False)
    driver.report_elsewhere([1, 2])
    for link in (1, 2):
        driver.report(FABRIC.link(link).a, False)
    driver.await_carriers(frozenset([1, 2]), up=False)
    assert driver.own() == NOTHING
    assert driver.restore([1]).links == frozenset()  # it comes up with the machine
    driver.wait_for(frozenset({1}), up=True)
    driver.cut([2])
    assert driver.own(NOTHING, timeout=10).carriers == {FABRIC.link(2).a}
    (change,) = driver.report_absent([])
    assert (change.links, change.up) == ({1}, True)
    driver.report_elsewhere([])
    driver.report(FABRIC.link(1).a, True)
    driver.await_carriers(frozenset([1]), up=True)
    driver.await_state()
    assert driver.state() == LinkState(frozenset({2}))
    with pytest.raises(LabError, match="not seen up within"):
        driver.await_carriers(frozenset([2]), up=True, timeout=0.01)


# --- in a lab -----------------------------------------------------------------


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:4,1", "brp") as running:
        yield running


@pytest.mark.lab
def test_what_was_cut_by_itself_stays_cut_when_its_node_is_restored(lab: Lab) -> None:
    (cut,) = lab.fail("h0", "s4").links
    node = lab.fail("s4").links
    (stays,) = lab.restore("s4").still_down
    assert (stays.link, stays.number, stays.because) == (["h0", "s4"], cut, ["it is cut by itself"])
    assert lab.info().down == [cut]
    assert lab.restore("h0", "s4").still_down == []
    assert lab.info().down == []
    assert len(node) == 4


@pytest.mark.lab
def test_a_link_stays_down_while_its_node_is_cut(lab: Lab) -> None:
    node = lab.fail("s4").links
    lab.fail("h0", "s4")
    (stays,) = lab.restore("h0", "s4").still_down
    assert (stays.link, stays.because) == (["h0", "s4"], ["s4 is cut"])
    assert lab.info().down == sorted(node)
    assert lab.restore("s4").still_down == []
    assert lab.info().down == []


@pytest.mark.lab
def test_the_journal_says_of_links_at_a_paused_agent_what_info_says(lab: Lab) -> None:
    begun = max(record.number for record in lab.events())
    lab.pause("h3")
    poll(lambda: set(lab.info().down) == {S0, S7}, 60)
    lab.fail("h3", "s0")
    (stays,) = lab.restore("h3", "s0").still_down
    assert (stays.number, stays.because) == (S0, ["the agent of h3 does not answer"])
    assert lab.info().down == [S0, S7]
    lab.restart("h3")
    poll(lambda: lab.info().down == [], 60)
    records = list(lab.events(after=begun))
    for link in (S0, S7):
        told = [(event.up, event.cause) for event in links_of(records, link)]
        assert told == [(False, "silent agent"), (True, "silent agent")]

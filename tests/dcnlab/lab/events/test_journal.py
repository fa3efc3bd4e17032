"""The journal of events by itself: bounds, gaps, readers that wait, and the JSON of every kind."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from dcnlab.lab.events.brief import brief
from dcnlab.lab.events.journal import Journal, Record
from dcnlab.lab.events.kinds import (
    KINDS,
    Alarm,
    ChangedInOrder,
    CommandEnded,
    CommandStarted,
    Configured,
    Converged,
    Dropped,
    Event,
    LabState,
    LearnedFailures,
    LinkChanged,
    MeasurementEnded,
    MeasurementStarted,
    ProcessEnded,
    ProcessRestarted,
    ProcessStopped,
    SwitchConnection,
    TablesChanged,
)

EXAMPLES: list[tuple[Event, str]] = [
    (LabState("ready", "bcube:4,1 with brp"), "The lab is ready: bcube:4,1 with brp"),
    (LinkChanged(["h0", "s4"], 16, False, "s4:1"), "h0-s4 went down: seen at s4:1"),
    (TablesChanged("s4", 3, 2.5), "s4 carried out 3 flow mods after 2.5 ms"),
    (LearnedFailures("h3", [16]), "h3 knows of 1 failed link"),
    (ChangedInOrder(4, 1.5), "Nodes have changed in an order without loops: 4 turns in 1.5 ms"),
    (ChangedInOrder(0, 1.5, at_once="no bit is free"), "Tables have changed at once: no bit is free"),
    (LearnedFailures("all agents", [16, 17]), "All agents know of 2 failed links"),
    (Converged([16], 4.25), "Converged after 4.25 ms, with 1 link down"),
    (Converged([16], 4.25, "no tables"), "Not converged: no tables"),
    (Configured("AACM", 12.5, {"h0": 0.25, "h1": 12.0}), "2 servers agreed on addresses by AACM in 12.5 ms"),
    (SwitchConnection("s4", False), "s4 lost the controller"),
    (ProcessEnded("agent", ["h5"], "it was killed"), "agent of h5 ended: it was killed"),
    (ProcessEnded("ovsdb", list("abcdef")), "ovsdb of a, b, c, d and 2 more ended"),
    (ProcessRestarted("controller", [], 2, 80.0), "controller runs again after 80 ms (restart 2)"),
    (ProcessStopped("agent", ["h5"]), "agent of h5 is stopped"),
    (ProcessStopped("agent", ["h5"], stopped=False), "agent of h5 continues"),
    (ProcessStopped("agent", ["h5"], hangs=True), "agent of h5 hangs"),
    (CommandStarted("fail", {"kind": "link", "names": ["h0", "s4"]}), "fail link h0 s4"),
    (CommandEnded(3, "exec", 12.0, {"exit": 1}, "", {"node": "h0", "words": ["false"]}),
     "exec h0 false took 12 ms: exit 1"),
    (CommandEnded(3, "fail", 12.5, {"up": False, "detection_ms": 2.25, "converged_ms": 11.5, "flow_mods": 1200,
                                    "switches": 2, "turns": 0, "order_ms": 0.0}, "",
                  {"kind": "link", "names": ["h0", "s4"]}),
     "Cut h0-s4: noticed after 2.25 ms, converged after 11.5 ms, 1,200 flow mods, 2 switches changed"),
    (CommandEnded(3, "restore", 3.0, {"up": True, "converged_ms": 3, "flow_mods": 0, "switches": 0}, "",
                  {"kind": "node", "names": ["h0"]}), "Restored all links of h0: converged after 3 ms"),
    (CommandEnded(3, "fail", 1.0, {}, "there is no h9", {"kind": "node", "names": ["h9"]}),
     "fail node h9 failed after 1 ms: there is no h9"),
    (CommandStarted("impair", {"names": ["h0", "s0"], "values": {"delay": "20ms", "loss": "1%"}}),
     "impair h0 s0 delay 20ms, loss 1%"),
    (MeasurementStarted("iperf", {"a": "h0", "b": "h1", "udp": ""}), "iperf a h0, b h1 started"),
    (MeasurementEnded(3, "ping", 7.0, {}, "no such host"), "ping failed after 7 ms: no such host"),
    (MeasurementEnded(3, "iperf", 7.5, {"mbps": 3897.5, "rtt_ms.p50": 1.5, "held": True, "lost": 0}),
     "iperf took 7.5 ms: 3,897.5 Mb/s, rtt p50 1.5 ms, held, lost 0"),
    (Alarm("controller", "s1 refused a message"), "controller: s1 refused a message"),
    (Dropped(7), "7 older events were dropped"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "text"), EXAMPLES, ids=lambda value: getattr(value, "kind", ""))
def test_an_event_has_one_line_and_survives_json(event: Event, text: str) -> None:
    assert event.text() == text
    record = Record(5, 1.5, 2.5, event)
    value: dict[str, Any] = json.loads(json.dumps(record.to_json()))
    assert value["kind"] == event.kind
    assert Record.from_json(value) == record


def test_every_kind_has_an_example() -> None:
    assert {event.kind for event, _ in EXAMPLES} == set(KINDS)


def test_numbers_count_from_one_and_times_grow() -> None:
    journal = Journal()
    numbers = [journal.add(Alarm("test", str(n))) for n in range(5)]
    records = journal.since()
    assert numbers == [record.number for record in records] == [1, 2, 3, 4, 5]
    assert sorted(record.clock for record in records) == [record.clock for record in records]
    assert [record.number for record in journal.since(3)] == [4, 5]
    assert journal.since(5) == []
    assert journal.since(99) == []


def test_a_full_ring_drops_the_oldest_and_says_how_many() -> None:
    journal = Journal(size=3)
    for number in range(10):
        journal.add(Alarm("test", str(number)))
    assert (journal.last, journal.dropped) == (10, 7)
    gap, *kept = journal.since(2)
    assert gap.event == Dropped(5)  # 3 to 7
    assert (gap.number, [record.number for record in kept]) == (7, [8, 9, 10])
    assert [record.kind for record in journal.since(7)] == ["alarm"] * 3


def test_a_reader_chooses_kinds() -> None:
    journal = Journal()
    for event, _ in EXAMPLES:
        journal.add(event)
    assert {record.kind for record in journal.since(0, {"link", "alarm"})} == {"link", "alarm"}


def test_readers_wait_for_the_next_event_and_wake_at_the_end() -> None:
    journal = Journal()
    woken: list[bool] = []
    first = threading.Thread(target=lambda: woken.append(journal.wait(0, 60)))
    first.start()
    journal.add(LabState("ready"))
    first.join(60)
    last = threading.Thread(target=lambda: woken.append(journal.wait(1, 60)))
    last.start()
    journal.close()
    last.join(60)
    assert woken == [True, False]
    assert journal.closed


def test_writers_in_many_threads_lose_nothing() -> None:
    journal = Journal(size=100_000)
    threads = [
        threading.Thread(target=lambda: [journal.add(LabState("ready")) for _ in range(500)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.number for record in journal.since()] == list(range(1, 4001))


def test_a_brief_journal_has_outcomes_and_what_happened_outside_of_commands() -> None:
    link, steps = (
        LinkChanged(["h0", "s4"], 16, False, "s4:1"),
        [TablesChanged("s4", 3, 2.5), LearnedFailures("h3", [16])],
    )
    events: list[Event] = [
        CommandStarted("fail", {"kind": "link", "names": ["h0", "s4"]}), link, *steps, Converged([16], 4.0),
        CommandEnded(1, "fail", 5.0, {}, "", {"kind": "link", "names": ["h0", "s4"]}),
        link, *steps, Converged([16], 4.0),
        MeasurementStarted("ping"), Alarm("a", "b"), link, MeasurementEnded(11, "ping", 1.0),
    ]  # fmt: skip
    records = [Record(number, 0.0, 0.0, event) for number, event in enumerate(events, 1)]
    assert [record.number for record in brief(records)] == [6, 7, 10, 12, 14]

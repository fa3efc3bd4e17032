"""The events of a real lab: what they say, in which order, and to whom."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import TypeVar

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import (
    CommandEnded,
    Converged,
    LearnedFailures,
    LinkChanged,
    MeasurementEnded,
    ProcessEnded,
    TablesChanged,
)
from tests.lab import processes
from tests.lab.lines import dcnlab
from tests.ovs import poll

pytestmark = pytest.mark.lab
T = TypeVar("T")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "wmgr") as running:
        yield running


def newest(lab: Lab) -> int:
    return max(record.number for record in lab.events())


def test_a_cut_is_told_from_the_command_to_convergence(lab: Lab) -> None:
    before = newest(lab)
    done = lab.fail("h0", "s0")
    records = list(lab.events(after=before))
    lab.restore("h0", "s0")
    kinds = [record.kind for record in records]
    assert (kinds[0], kinds[-1]) == ("command", "command-ended")
    assert records[0].event.text() == "fail link h0 s0"
    link = one(records, LinkChanged)
    assert (link.link, link.up, link.link_number) == (["h0", "s0"], False, done["links"][0])
    assert link.reporter in ("h0:1", "s0:1")
    changed = [record.event for record in records if isinstance(record.event, TablesChanged)]
    assert len({event.switch for event in changed}) == done["switches"] > 0
    assert sum(event.flow_mods for event in changed) == done["flow_mods"]
    learned = {r.event.who: r.event.down for r in records if isinstance(r.event, LearnedFailures)}
    assert learned == {"the controller": done["links"], "all agents": done["links"]}
    converged = one(records, Converged)
    assert (converged.down, converged.error) == (done["links"], "")
    order = [kinds.index(kind) for kind in ("command", "link", "learned", "converged", "command-ended")]
    assert order == sorted(order)
    ended = one(records, CommandEnded)
    assert (ended.command, ended.result["converged_ms"]) == (records[0].number, done["converged_ms"])


def test_the_event_and_the_command_give_the_same_time_of_convergence(lab: Lab) -> None:
    for change in (lab.fail, lab.restore):
        before = newest(lab)
        done = change("h1", "s0")
        records = list(lab.events(after=before, kinds=["converged"]))
        assert [record.event.ms for record in records] == [done["converged_ms"]]
    before = newest(lab)
    lab.fail("h1", "s0")
    again = lab.fail("h1", "s0")  # nothing changes: there is no event, and no earlier time is given
    lab.restore("h1", "s0")
    assert len(list(lab.events(after=before, kinds=["converged"]))) == 2
    assert again["converged_ms"] >= 0


def one(records: list[Record], kind: type[T]) -> T:
    (event,) = [record.event for record in records if isinstance(record.event, kind)]
    return event


def test_agents_that_flood_tell_what_each_has_learned() -> None:
    with Lab("torus:3x3", "shortest", link_state="agents") as lab:
        cut = lab.fail("h0", "h1")["links"]

        def informed() -> bool:
            learned = [r.event for r in lab.events(kinds=("learned",))]
            return {e.who for e in learned if isinstance(e, LearnedFailures) and e.down == cut} == {
                f"h{n}" for n in range(9)
            }

        poll(informed, 60)


def test_programs_and_measurements_are_recorded_and_reading_is_not(lab: Lab) -> None:
    before = newest(lab)
    lab.run("h0", ["true"])
    lab.ping("h0", "h3")
    with pytest.raises(UsageError):
        lab.fail("h0", "h3")
    lab.info(), lab.tables("s0"), lab.stats(), lab.counters(), lab.nodes(), lab.explain("h0", "h3")
    records = list(lab.events(after=before))
    assert [record.kind for record in records] == [
        "command", "command-ended", "measurement", "measurement-ended", "command", "command-ended"
    ]  # fmt: skip
    assert records[0].event.text() == "exec h0 true"
    assert records[1].event.to_json()["result"] == {"exit": 0}
    measured = one(records, MeasurementEnded)
    assert (measured.name, measured.measurement) == ("ping", records[2].number)
    assert "no link" in records[5].event.to_json()["error"]


def test_a_follower_sees_what_happens_and_the_end(lab: Lab) -> None:
    other = Lab("bcube:2,1", "brp").start()
    command = [sys.executable, "-m", "dcnlab.cli", "events", other.config.name, "--follow", "--json"]
    following = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["state"] == "ready"
        processes.agents(other).agents[0].kill()
        poll(lambda: any(isinstance(r.event, ProcessEnded) for r in other.events()), 60)
        other.fail("h1", "s0")
    finally:
        other.stop()
    out, errors = following.communicate(timeout=120)
    records = [json.loads(line) for line in out.splitlines()]
    assert (following.returncode, errors) == (0, "")
    ended = next(value for value in records if value["kind"] == "process-ended")
    assert ended["process"] == "agent"
    assert ended["nodes"][0].startswith("h")
    assert records[-1]["state"] == "ending"
    assert [value["number"] for value in records] == list(range(2, len(records) + 2))
    assert all(Record.from_json(value).event.text() == value["text"] for value in records)


def test_the_command_prints_lines_or_one_value(lab: Lab) -> None:
    lab.fail("h1", "s0")
    lab.restore("h1", "s0")
    lines = dcnlab("events", lab.config.name, "--kind", "link").stdout.splitlines()
    assert lines[-1].split(maxsplit=1)[1].startswith("link ")
    assert "h1-s0 came up: seen at " in lines[-1]
    values = json.loads(dcnlab("events", lab.config.name, "--kind", "link", "--json").stdout)
    assert {value["kind"] for value in values} == {"link"}
    assert len(values) == len(lines)
    assert json.loads(dcnlab("events", lab.config.name, "--after", "999999", "--json").stdout) == []


def test_wrong_kinds_and_labs_are_one_line(lab: Lab) -> None:
    wrong = dcnlab("events", lab.config.name, "--kind", "links")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "no kind of event 'links': known are lab, link," in wrong.stderr
    with pytest.raises(LabError, match="no lab named"):
        Lab.attach("no-such-lab")

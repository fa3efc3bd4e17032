"""The journal, `info`, the page and the tables say the same of links after random failures: cuts, restores,
pauses, kills, restarts and vandals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from dcnlab.lab.api.state import state
from dcnlab.lab.chaos import plan
from dcnlab.lab.chaos.targets import targets
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import Converged, LinkChanged
from dcnlab.lab.measurement.invariants import Invariants
from dcnlab.lab.scenario.action import Event
from dcnlab.lab.scenario.runner import perform

pytestmark = pytest.mark.lab
STEPS = 6


def down_by(records: Iterable[Record]) -> list[int]:
    """The links that are down after what the journal tells; each event changes a link."""
    down: set[int] = set()
    for record in records:
        event = record.event
        if isinstance(event, LinkChanged):
            assert (event.link_number in down) == event.up, f"{event.text()}, which it was already"
            (down.remove if event.up else down.add)(event.link_number)
    return sorted(down)


def follow(lab: Lab, fault: plan.Fault) -> None:
    """Do it; what fails may only be for want of a process that the plan has stopped."""
    try:
        perform(lab, Event.model_validate(fault.event()))
    except LabError as error:
        if "stopped" not in str(error) and "does not answer" not in str(error):
            raise


@pytest.mark.parametrize(
    ("topology", "scheme", "seed"),
    [("bcube:2,1", "brp", 11), ("torus:3x3", "pow", 12), ("fattree:4", "ecmp", 13)],
)
def test_journal_info_page_and_tables_agree_after_random_failures(
    topology: str, scheme: str, seed: int
) -> None:
    with Lab(topology, scheme) as lab:
        possible = targets(lab.config, lab.config.validate().fabric, vandals=True)
        for step in itertools.islice(plan.steps(possible, seed), STEPS):
            for fault in step:
                follow(lab, fault)
            checked = lab.measure(Invariants(within=60))
            assert checked.held, [*map(str, step), *checked.notes()]
            records = list(lab.events())
            told, info = down_by(records), lab.info().down
            page = state(lab)["down"]
            assert told == info == page, [*map(str, step)]
            rounds = [one.event for one in records if isinstance(one.event, Converged)]
            assert sorted(rounds[-1].down if rounds else []) == info
            switches = [one["name"] for one in lab.nodes() if one["kind"] == "switch"]
            assert [name for name in switches if not lab.tables(name).equal] == []

"""What `fail` says besides its figures."""

from __future__ import annotations

from controller import phases
from dcnlab.lab.contract.links import LinkChange
from dcnlab.lab.contract.machine import LinksSet


def change(at_once: str) -> LinkChange:
    return LinkChange(
        links=[3], up=False, silent=[], detection_ms=1.0, converged_ms=2.0, flow_mods=4, switches=2,
        tables_ms=1.5, at_once=at_once,
    )  # fmt: skip


def test_a_change_at_once_is_told_where_an_order_was_asked_for() -> None:
    assert change("").notes() == []
    assert "at_once" not in change("")
    told = change(phases.NO_ROOM)
    assert told.notes() == [f"tables changed at once: {phases.NO_ROOM}"]
    assert told["at_once"] == phases.NO_ROOM


def test_of_several_machines_one_says_why() -> None:
    machines = [LinksSet(1.0, 2, 1, 0.5), LinksSet(None, 0, 0, 0.0, at_once=phases.NO_ROOM)]
    assert LinksSet.together(machines).at_once == phases.NO_ROOM

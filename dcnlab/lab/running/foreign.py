"""Which controller the switches of a running lab have, and whether they are connected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.connections import Controlled
from dcnlab.lab.options.controller_choice import ControllerChoice

_MAX_NAMES = 4


@dataclass(frozen=True)
class ControllerStatus:
    """The controller of a lab.

    ``connected``: how many of the ``switches`` are connected to the controller that the lab was launched
    with.  ``by_hand``: the targets of switches whose controllers somebody has changed.
    """

    controller: str
    library: str
    switches: int
    connected: int
    by_hand: dict[str, list[str]] = field(default_factory=dict)
    rest: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every switch has the lab's controller."""
        return self.connected == self.switches and not self.by_hand

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def status(running: Running) -> ControllerStatus:
    """Ask the switches."""
    choice = running.choice
    found = running.connections.now()
    by_switch: dict[str, list[Controlled]] = {name: [] for name in switch_names(running)}
    for one in found:
        by_switch.setdefault(one.switch, []).append(one)
    own = openvswitch.target(choice)
    wanted = [own] if own else []
    by_hand = {
        name: [one.target for one in ones]
        for name, ones in by_switch.items()
        if [one.target for one in ones] != wanted
    }
    connected = sum(one.connected for one in found if one.target == own)
    notes = [*_by_hand_lines(by_hand, found), *_connection_lines(running, connected, len(by_switch), by_hand)]
    library = choice.library(running.config.backend) if choice.kind in ("ours", "app") else ""
    rest = running.outside.rest_address
    return ControllerStatus(choice.text, library, len(by_switch), connected, by_hand, rest, notes)


def switch_names(running: Running) -> list[str]:
    """The names of all switches."""
    return [bridge.name for shard in running.shards for bridge in shard.bridges]


def _by_hand_lines(by_hand: dict[str, list[str]], found: Iterable[Controlled]) -> list[str]:
    """One line for each set of controllers that somebody has given to switches."""
    connected = {(one.switch, one.target) for one in found if one.connected}
    alike: dict[tuple[str, ...], list[str]] = {}
    for switch, targets in by_hand.items():
        alike.setdefault(tuple(targets), []).append(switch)
    lines = []
    for given, switches in alike.items():
        here = sum(any((switch, target) in connected for target in given) for switch in switches)
        have = "has" if len(switches) == 1 else "have"
        what = f"{have} the controller {' and '.join(given)}" if given else f"{have} no controller"
        state = f", {here} of {len(switches)} connected" if given else ""
        lines.append(f"{some(switches)} {what}, set by hand{state}")
    return lines


def _connection_lines(
    running: Running, connected: int, switches: int, by_hand: dict[str, list[str]]
) -> list[str]:
    """One line when switches are not connected to the controller that they should have."""
    expected = switches - len(by_hand)
    if running.choice.kind == "none" or connected >= expected:
        return []
    why = running.outside.error()
    line = f"controller {running.choice.text}: {connected} of {expected} switches connected"
    return [f"{line} ({why})" if why else line]


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown


def describe(choice: ControllerChoice) -> str:
    """The controller in a table."""
    return choice.text

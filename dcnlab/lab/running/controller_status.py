"""Which controller the switches of a running lab have, and whether they are connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dcnlab.lab.contract.lab import ControllerRole, ControllerState
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.connections import Controlled
from dcnlab.lab.options.controller_choice import ControllerChoice

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine

_MAX_NAMES = 4


def status(running: Running) -> ControllerState:
    """Ask the switches."""
    choice = running.choice
    states = running.connections.now()
    by_switch: dict[str, list[Controlled]] = {name: [] for name in switch_names(running)}
    for one in states:
        by_switch.setdefault(one.switch, []).append(one)
    own = openvswitch.targets(choice)
    by_hand = {
        name: [one.target for one in ones]
        for name, ones in by_switch.items()
        if sorted(one.target for one in ones) != sorted(own)
    }
    connected = len({one.switch for one in states if one.connected and one.target in own})
    controllers = [_one_of(choice, number, target, states) for number, target in enumerate(own)]
    lines = _connection_lines(running, controllers, len(by_switch) - len(by_hand))
    notes = [*_by_hand_lines(by_hand, states), *lines]
    library = choice.library(running.config.backend) if choice.kind in ("ours", "app") else ""
    rest = running.outside.rest_address
    return ControllerState(choice.text, library, len(by_switch), connected, by_hand, rest, notes, controllers)


def _one_of(
    choice: ControllerChoice, number: int, target: str, connections: Iterable[Controlled]
) -> ControllerRole:
    """One of the controllers of a lab: the switches that are connected with it, and its roles there."""
    here = [one for one in connections if one.target == target and one.connected]
    text = choice.named(number) if choice.remotes else choice.text
    return ControllerRole(text, len(here), dict(sorted(Counter(one.role or "other" for one in here).items())))


def noticed(lab: LocalMachine) -> ControllerState:
    """What the switches say, with what others have noticed of their control."""
    state = status(lab.running)
    return replace(state, notes=[*state.notes, *(line for notice in lab.notices for line in notice())])


def switch_names(running: Running) -> list[str]:
    """The names of all switches."""
    return [bridge.name for shard in running.shards for bridge in shard.bridges]


def _by_hand_lines(by_hand: dict[str, list[str]], states: Iterable[Controlled]) -> list[str]:
    """One line for each set of controllers that somebody has given to switches."""
    connected = {(one.switch, one.target) for one in states if one.connected}
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


def _connection_lines(running: Running, controllers: Iterable[ControllerRole], expected: int) -> list[str]:
    """One line for each controller that switches should be connected to, and are not."""
    lines = []
    for one in controllers:
        if one.connected < expected:
            why = running.outside.error()
            line = f"controller {one.controller}: {one.connected} of {expected} switches connected"
            lines.append(f"{line} ({why})" if why else line)
    return lines


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown


def describe(choice: ControllerChoice) -> str:
    """The controller in a table."""
    return choice.text

"""Makes a measurement, watches the machines meanwhile, and judges the result."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dcnlab.lab.contract import fields as arguments
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.fidelity import judging
from dcnlab.lab.instruments.fidelity.judging import Passed
from dcnlab.lab.instruments.fidelity.observation import AGENTS, SWITCHES, Observation
from dcnlab.lab.instruments.fidelity.watch import WatchProbe
from dcnlab.lab.instruments.measurement import Context, Measurement, R
from dcnlab.lab.instruments.probe import at_once

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

#: Paths whose mean length stands for that of all.
_PATHS = 8


def make(wanted: Measurement[R], lab: MeasuredLab, context: Context) -> R:
    """Make a measurement; its result has a verdict where it depends on time and somebody could watch."""
    if not wanted.timed:
        return wanted.run(lab, context)
    with _watching(context) as watches:
        result = wanted.run(lab, context)
        seen = _seen(watches)
    if not seen:
        return result
    verdict = judging.judge(seen, result.timed(), passed(lab, wanted))
    return dataclasses.replace(result, verdict=verdict)


@contextlib.contextmanager
def _watching(context: Context) -> Iterator[Sequence[WatchProbe]]:
    """Begin the watches of the machines, and yield them; none where one of them cannot begin.

    The measurement tells of a machine that is lost; what its watch says of it is not an error of its own.
    """
    with contextlib.ExitStack() as stack:
        watches: Sequence[WatchProbe] = ()
        with contextlib.suppress(LabError):
            opened = stack.enter_context(context.silent().probes(WatchProbe))
            watches = opened if all(at_once(opened, lambda one: one.begin())) else ()
        try:
            yield watches
        finally:
            closing = stack.pop_all()
            with contextlib.suppress(LabError):
                closing.close()


def _seen(watches: Sequence[WatchProbe]) -> list[Observation]:
    """What was seen on all machines; nothing where one was lost."""
    if not watches:
        return []
    try:
        observations = at_once(watches, lambda one: one.seen())
    except LabError:
        return []
    return [one for one in observations if one is not None] if all(observations) else []


def passed(lab: MeasuredLab, wanted: Measurement[Any]) -> Passed:
    """Return the path of a measurement between two servers; for other measurements, the mean of some paths."""
    from addressing.scheme import path

    servers, switches, delays, paths = 0, 0, 0, 0
    pair, shapes = _pair(lab, wanted), lab.impairments
    for a, b in _some(lab.fabric.servers) if pair is None else [pair]:
        nodes = path(lab.scheme, a, b, lab.links) or ()
        paths += bool(nodes)
        servers += sum(lab.fabric.is_server(node) for node in nodes)
        switches += sum(not lab.fabric.is_server(node) for node in nodes)
        known = known_path.between(lab, a, b, shapes)
        delays += known.delays
    relaying = lab.fabric.relaying
    options = known.faster if paths else ()
    slow = {AGENTS: known_path.RELAYS in options, SWITCHES: known_path.SWITCHES in options}
    return Passed(
        servers / paths if paths and relaying else 0.0,
        switches / paths if paths and slow[SWITCHES] else 0.0,
        delays / paths if paths else 0.0,
        {part: option for part, option in _OPTIONS.items() if slow.get(part)},
    )


_OPTIONS = {AGENTS: known_path.RELAYS, SWITCHES: known_path.SWITCHES}


def _pair(lab: MeasuredLab, wanted: Measurement[Any]) -> tuple[int, int] | None:
    """The two servers that a measurement names; None where it names none, or more."""
    values = [getattr(wanted, item.name) for item in arguments.servers(type(wanted))]
    if len(values) != 2 or not all(isinstance(value, str) and value for value in values):
        return None
    with contextlib.suppress(UsageError):
        return lab.two_servers(*values)
    return None


def _some(servers: int) -> list[tuple[int, int]]:
    """Some pairs of servers, spread over all."""
    if servers < 2:
        return []
    step = max(1, servers // _PATHS)
    return [(number, (number + servers // 2) % servers) for number in range(0, servers, step)]

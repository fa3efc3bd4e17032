"""Servers of a lab configure themselves, by the protocol that their scheme names."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from addressing.scheme import Scheme
from dcnlab.lab.autoconfig.side import Protocol, Side, frames
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.options.config import LabConfig
from hostagent.client import AgentPool

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import Configured


def check(config: LabConfig) -> None:
    """Raise UsageError unless the servers of the lab configure themselves."""
    if not config.autoconfigure:
        raise UsageError("the servers of this lab were given their addresses: start one --autoconfigure")


def enable_configuration(agents: AgentPool, scheme: Scheme) -> None:
    """Make all agents run the scheme's autoconfiguration protocol."""
    _protocol(_name(scheme)).enable(agents, scheme)


def side(agents: AgentPool, scheme: Scheme, servers: Sequence[int]) -> Side:
    """Return the agents of these servers, which this machine runs, for one run of the protocol."""
    return _protocol(_name(scheme)).side(agents, scheme, frozenset(servers))


def configure(sides: Sequence[Side], scheme: Scheme, epoch: int) -> Configured:
    """Run the protocol once, on all machines; LabError, in one line, with every error found."""
    name = _name(scheme)
    protocol = _protocol(name)
    first = next((one for one in sides if one.runs(protocol.origin(scheme))), None)
    if first is None:
        raise LabError(f"the machine of {scheme.fabric.name(protocol.origin(scheme))} does not answer")
    with ThreadPoolExecutor(len(sides)) as pool:
        list(pool.map(lambda each: each.prepare(), sides))
        begun = time.monotonic()
        concluded = first.begin(epoch)
        protocol.check(scheme, concluded)
        outcomes = list(pool.map(lambda each: each.finish(), sides))
    if wrong := sorted(node for one in outcomes for node in one.wrong):
        raise LabError(protocol.wrong(scheme, wrong))
    times = zip(sides, outcomes, strict=True)
    at = {node: when - each.ahead for each, one in times for node, when in one.at.items()}
    start, ms = protocol.timed(concluded, at, begun)
    servers = {
        scheme.fabric.name(node): round(1000 * max(0.0, when - start), 3) for node, when in sorted(at.items())
    }
    from dcnlab.lab.contract.lab import Configured  # most labs need none

    return Configured(name, ms, frames(outcomes), servers)


def _name(scheme: Scheme) -> str:
    protocol = scheme.autoconfiguration().protocol
    assert protocol is not None  # LabConfig.validate refuses other labs
    return protocol


def _protocol(name: str) -> Protocol:
    """The protocol of that name; most labs need none, so each is imported when a lab does."""
    if name == "AACM":
        from dcnlab.lab.autoconfig.aacm import Aacm

        return Aacm()
    from dcnlab.lab.autoconfig.labelling import Labelling

    return Labelling()

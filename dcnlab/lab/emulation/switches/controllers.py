"""The controller of a lab at its launch: its process or the connection to it, and when switches have it."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from controller.client import ControllerProcess
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.connections import Connections
from dcnlab.lab.emulation.switches.openvswitch import Shard
from dcnlab.lab.errors import LabError
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.controller_choice import ControllerChoice

#: Seconds without a further switch that connects, after which a launch fails.
STALL = 15.0
#: Seconds between two looks at the connections.
_LOOK = 0.05
#: Seconds without progress after which Open vSwitch's logs are read for the reason.
_SUSPICIOUS = 1.0
_VERSIONS = re.compile(r"version negotiation failed .*peer supports version 0x0([1-6])\)")
_TLS_ERROR = re.compile(r"SSL_connect: (?:error:[0-9A-Fa-f]+:)?(?:[^:\n]*:)*\s*(.+)")
_VERSION_NAMES = {"1": "1.0", "2": "1.1", "3": "1.2", "5": "1.4", "6": "1.5"}


def spawn(
    config: LabConfig,
    choice: ControllerChoice,
    shards: Sequence[Shard],
    outside: Outside,
    on_event: Callable[[dict[str, Any]], None],
    resume: Sequence[int] | None = None,
    switches: Sequence[int] | None = None,
) -> ControllerProcess | None:
    """Start the process of the controller, or let the forwarder accept switches; None without a process.

    With ``resume``, the links that are down, it takes over switches that have their tables already.
    ``switches`` are the nodes that it controls, None for all.
    """
    if not shards or choice.kind == "none":
        return None
    sockets = openvswitch.listeners(shards)
    try:
        if choice.kind == "remote":
            outside.forward(sockets)
            return None
        return ControllerProcess.spawn(
            config.topology,
            config.scheme,
            sockets,
            backend=choice.library(config.backend),
            custom=config.custom,
            on_event=on_event,
            applications=choice.applications,
            tables=choice.tables,
            rest=outside.rest,
            resume=resume,
            switches=switches,
            sockets=openvswitch.ROOT,
            ordered=config.update_order == "loop-free",
        )
    finally:
        for listener in sockets:
            listener.close()


def wait_connected(
    choice: ControllerChoice, shards: Sequence[Shard], connections: Connections, outside: Outside
) -> None:
    """Wait until every switch is connected; LabError when the controller cannot serve them, or when none
    connects for a while."""
    wanted = sum(len(shard.bridges) for shard in shards)
    connected, since = 0, time.monotonic()
    while connected < wanted:
        found = connections.now()
        now = len({one.switch for one in found if one.connected})
        if now != connected:
            connected, since = now, time.monotonic()
            continue
        if time.monotonic() - since > _SUSPICIOUS and (problem := complaint(shards)):
            raise LabError(f"{choice.text}: {problem}")
        if time.monotonic() - since > STALL:
            why = outside.error() or _conversation(choice, connected)
            text = f"{choice.text}: {connected} of {wanted} switches are connected, and no more for {STALL:g} s"
            raise LabError(text + (f" ({why})" if why else ""))
        time.sleep(_LOOK)


def _conversation(choice: ControllerChoice, connected: int) -> str:
    """What is known when connections to a controller work and switches are not connected all the same."""
    if choice.kind == "remote" and not connected:
        return "it accepts connections, but does not speak OpenFlow"
    return ""


def complaint(shards: Sequence[Shard]) -> str:
    """Why a controller cannot serve these switches, from Open vSwitch's logs; empty if they do not say."""
    for shard in shards:
        with contextlib.suppress(OSError):
            text = (shard.rundir / "ovs-vswitchd.log").read_text(errors="replace")
            if found := _VERSIONS.search(text):
                version = _VERSION_NAMES.get(found[1], f"0x0{found[1]}")
                return f"the controller speaks OpenFlow {version} only; the switches speak 1.3"
            if found := _TLS_ERROR.search(text):
                return f"TLS failed ({found[1].strip()}): see controller_ca, controller_cert and controller_key"
    return ""

"""The controller of a lab at its launch: its process or the connection to it, and when switches have it."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Sequence

from controller.beside import NOTHING, Beside
from controller.client import ControllerProcess
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.connections import Connections
from dcnlab.lab.emulation.switches.shards import ROOT, Shard
from dcnlab.lab.errors import LabError
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.controller_choice import ControllerChoice
from hostagent.linux.channel import Message

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
    on_event: Callable[[Message], None],
    resume: Sequence[int] | None = None,
    switches: Sequence[int] | None = None,
    beside: Beside = NOTHING,
) -> ControllerProcess | None:
    """Start the process of the controller, or let the forwarder accept switches; None without a process.

    With ``resume``, the links that are down, it takes over switches that have their tables already.
    ``switches`` are the nodes that it controls, None for all; ``beside`` is what they hold beside the scheme's
    entries.
    """
    if not shards or choice.kind == "none":
        return None
    numbers = range(len(choice.remotes) or 1)
    each = [openvswitch.listeners(shards, number) for number in numbers]
    sockets = each[0]
    try:
        if choice.kind == "remote":
            outside.forward(each)
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
            sockets=ROOT,
            ordered=config.update_order == "loop-free",
            beside=beside,
        )
    finally:
        for listener in itertools.chain.from_iterable(each):
            listener.close()


def wait_connected(
    choice: ControllerChoice, shards: Sequence[Shard], connections: Connections, outside: Outside
) -> None:
    """Wait until every switch is connected; LabError when the controller cannot serve them, or when none
    connects for a while."""
    wanted = sum(len(shard.bridges) for shard in shards) * (len(choice.remotes) or 1)
    connected, since = 0, time.monotonic()
    while connected < wanted:
        states = connections.now()
        now = len({(one.switch, one.target) for one in states if one.connected})
        if now != connected:
            connected, since = now, time.monotonic()
            continue
        if time.monotonic() - since > _SUSPICIOUS and (problem := complaint(shards)):
            raise LabError(f"{choice.text}: {problem}")
        if time.monotonic() - since > STALL:
            why = outside.error() or _conversation(choice, connected)
            what = "switches are connected" if len(choice.remotes) < 2 else "connections of switches are there"
            text = f"{choice.text}: {connected} of {wanted} {what}, and no more for {STALL:g} s"
            raise LabError(text + (f" ({why})" if why else ""))
        time.sleep(_LOOK)


def _conversation(choice: ControllerChoice, connected: int) -> str:
    """Say what is known when connections to a controller work, but switches are not connected."""
    if choice.kind == "remote" and not connected:
        return "it accepts connections, but does not speak OpenFlow"
    return ""


def complaint(shards: Sequence[Shard]) -> str:
    """Why a controller cannot serve these switches, from Open vSwitch's logs; empty if they do not say."""
    for shard in shards:
        with contextlib.suppress(OSError):
            text = (shard.rundir / "ovs-vswitchd.log").read_text(errors="replace")
            if match := _VERSIONS.search(text):
                version = _VERSION_NAMES.get(match[1], f"0x0{match[1]}")
                return f"the controller speaks OpenFlow {version} only; the switches speak 1.3"
            if match := _TLS_ERROR.search(text):
                return f"TLS failed ({match[1].strip()}): see controller_ca, controller_cert and controller_key"
    return ""

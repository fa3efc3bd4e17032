"""The entries of a switch with their live counters, as Open vSwitch counts them, by any controller."""

from __future__ import annotations

import time

from controller.openflow import ofctl
from dcnlab.lab.contract.switches import FlowEntries, FlowEntry
from dcnlab.lab.errors import UsageError
from dcnlab.lab.running.local_machine import LocalMachine


def parse(line: str) -> FlowEntry | None:
    """An entry of ``ovs-ofctl dump-flows``; None for a line that is none.  ``duration`` is in seconds."""
    stated = ofctl.entry(line)
    if stated is None:
        return None
    counted = stated.statistics
    return FlowEntry(
        table=int(counted["table"]),
        priority=stated.priority,
        match=",".join(stated.match),
        actions=stated.actions,
        cookie=counted["cookie"],
        options=", ".join(stated.options),
        packets=int(counted["n_packets"]),
        bytes=int(counted["n_bytes"]),
        duration=float(counted["duration"].removesuffix("s")),
    )


def flows(session: LocalMachine, node: int) -> FlowEntries:
    """The entries of a switch, of the first table and the highest priority first, and when they were read on
    the monotonic clock; UsageError for servers."""
    name = session.fabric.name(node)
    if session.fabric.is_server(node):
        raise UsageError(f"{name} is a server, which has no flow entries: `dcnlab tables` shows its rule")
    text = session.running.shard(name).run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", name)
    at = time.monotonic()
    entries = [entry for entry in map(parse, text.splitlines()) if entry is not None]
    entries.sort(key=lambda entry: (entry.table, -entry.priority, entry.match))
    return FlowEntries(name, at, entries)

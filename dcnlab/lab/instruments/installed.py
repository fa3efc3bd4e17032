"""What all switches of a machine hold, read until two readings agree, as text for the verifier."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from dcnlab.lab.errors import LabError
from dcnlab.lab.running import convergence
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.verifier.openflow import reading
from dcnlab.verifier.openflow.tables import Switch

_KINDS = ("dump-flows", "dump-groups", "dump-ports-desc")
_COUNTERS = re.compile(r"\b(?:duration|n_packets|n_bytes|idle_age|hard_age)=[^, ]*,? *|\(xid=0x[0-9a-f]+\)")
_PAUSE, _WORKERS = 0.02, 8
#: Readings, however long they take; the first is often compared with one of an earlier check.
_LEAST = 3

#: Per switch what ``ovs-ofctl`` prints of it: flows, groups, ports.
Dumps = dict[str, list[str]]


class _Last:
    """The last reading of this machine."""

    def __init__(self, _: object) -> None:
        self.dumps: Dumps = {}


def dumps(session: LocalMachine, within: float) -> Dumps:
    """What the switches of this machine hold.  LabError unless two readings agree within some seconds, or of
    the first three where these take longer; a switch may be away at one of them."""
    deadline, last = time.monotonic() + within, session.own(_Last)
    readings = 0
    while True:
        readings += 1
        try:
            before, now = last.dumps, _read(session)
        except LabError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
            continue
        last.dumps = now
        if now == before:  # also if that was read long ago, for an earlier check
            return now
        if readings >= _LEAST and time.monotonic() >= deadline:
            changed = sorted(name for name in now if now[name] != before.get(name))
            raise LabError(f"the tables change all the time: {', '.join(changed[:4])}; try again")
        if before:
            time.sleep(_PAUSE)


def _read(session: LocalMachine) -> Dumps:
    dead = convergence.dead_nodes(session)
    names = [session.fabric.name(node) for node in session.running.switches if node not in dead]
    with ThreadPoolExecutor(_WORKERS) as pool:
        return dict(zip(names, pool.map(lambda name: _dump(session, name), names), strict=True))


def _dump(session: LocalMachine, name: str) -> list[str]:
    shard = session.running.shard(name)
    texts = (shard.run("ovs-ofctl", "-O", "OpenFlow13", "--no-names", kind, name) for kind in _KINDS)
    return [_COUNTERS.sub("", text) for text in texts]


def switches(dumps: Mapping[str, list[str]]) -> dict[str, Switch]:
    """The switches of some dumps, by name."""
    return {name: reading.switch(name, *texts) for name, texts in dumps.items()}

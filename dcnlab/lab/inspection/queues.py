"""What waits at the interfaces of a lab: the queueing disciplines of the kernel, and what they have dropped."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from dcnlab.lab.contract.network import Queue
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.errors import LabError
from dcnlab.lab.running.local_machine import LocalMachine

#: Without a rate, a delay or a loss, interfaces have no queue.
_NO_QUEUE = "noqueue"


def queues(session: LocalMachine) -> list[Queue]:
    """Each port that has a queue."""
    fabric, running = session.fabric, session.running
    nodes = (*running.servers, *running.switches)
    names = sorted({running.namespace(node) for node in nodes})
    roots = {root["dev"]: root for name in names for root in _roots(name)}
    ports = ((node, port, peer.node) for node in nodes for port, peer in fabric.ports(node))
    return [
        Queue(
            node=fabric.name(node), port=port, to=fabric.name(peer),
            packets=root["qlen"], bytes=root["backlog"], dropped=root["drops"],
        )
        for node, port, peer in ports
        if (root := roots.get(interface(fabric, node, port))) is not None
    ]  # fmt: skip


def _roots(namespace: str) -> Iterator[dict[str, Any]]:
    """The root queueing disciplines in a namespace."""
    argv = ["tc", "-netns", namespace, "-statistics", "-json", "qdisc", "show"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"tc cannot read the queues: {done.stderr.strip()}")
    for discipline in json.loads(done.stdout or "[]"):
        if discipline.get("root") and discipline["kind"] != _NO_QUEUE:
            yield discipline

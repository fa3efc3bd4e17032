"""Profiles: a launch by stage and by function, and an agent that relays packets.

    python -m benchmarks.profile [bcube:4,3] [--seconds 3]

The launch is that of a whole lab in its own sandbox, profiled in the session.  Switch daemons,
the controller and the agents' parent work in other processes, so much of the time is waiting.
The relay is one agent in its own process between two hosts, one of which sends small packets as
fast as it can.  Time inside recvmmsg(2) and sendmmsg(2) counts for their callers.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import os
import pstats
import random
import socket
import time
from pathlib import Path

from addressing import registry as schemes
from benchmarks.relay import AGENT, SCHEME, chain, plain_ends, received, worker
from benchmarks.sandboxes import enter_sandbox, from_child
from dcnlab.lab.emulation import launch
from dcnlab.lab.options.config import LabConfig, resolve
from hostagent.forwarding.agent import Agent, addresses_of
from hostagent.linux.channel import Channel
from hostagent.runtime import progress
from hostagent.runtime.agent_io import AgentIO
from hostagent.runtime.devices import open_devices
from hostagent.runtime.mmsg import PacketBuffers
from hostagent.runtime.shared_links import SharedLinkState
from hostagent.runtime.worker import Worker
from tests.hostagent.namespaces import ServerNetwork

LAUNCHED = "bcube:4,3"
SECONDS = 3
_LINES = 14
_ROOT = Path(__file__).parents[1]


def start_up(topology: str) -> str:
    """The profile of a launch, from a child process that becomes the lab."""
    return from_child(lambda: _launched(topology))


def _launched(topology: str) -> str:
    enter_sandbox()
    profile = cProfile.Profile()
    _, scheme = resolve(topology, SCHEME)
    config = LabConfig(topology, SCHEME)
    running = profile.runcall(launch.launch, config, scheme, lambda port, up: None, lambda stage: None)
    stages = "  ".join(f"{name} {seconds:.3f}" for name, seconds in running.seconds.items())
    return f"seconds by stage: {stages}\n{_table(profile, 'cumulative')}"


def relaying(seconds: float = SECONDS) -> str:
    """The profile of one agent that relays small packets."""
    with chain(AGENT) as lab:
        plain_ends(lab)
        return from_child(lambda: _relayed(lab, seconds))


def _relayed(lab: ServerNetwork, seconds: float) -> str:
    place, scheme = lab.place(1), schemes.bind(SCHEME, lab.fabric)
    agent = Agent(scheme, 1, addresses_of(scheme), random.Random(1))
    ours, theirs = socket.socketpair()
    agent_io = AgentIO(
        agent, open_devices(place.netns, place.ports, agent.own_address), PacketBuffers(), lambda _: None, b""
    )
    [cell] = progress.cells(1)
    work, profile = Worker(Channel(theirs), [agent_io], SharedLinkState(0), 0, cell), cProfile.Profile()
    with worker(lab, 0, "blast", lab.addresses[2]):
        if not (steering := os.fork()):
            begun = received(lab, 2)
            time.sleep(seconds)
            print(
                f"small packets relayed while profiled: {(received(lab, 2) - begun) / seconds:,.0f}/s",
                flush=True,
            )
            ours.shutdown(socket.SHUT_RDWR)
            os._exit(0)
        profile.runcall(work.run)
        os.waitpid(steering, 0)
    return _table(profile, "tottime")


def _table(profile: cProfile.Profile, order: str) -> str:
    """The functions that took longest; file names are relative to the repository."""
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats(order).print_stats(_LINES)
    lines = [line.rstrip() for line in text.getvalue().replace(f"{_ROOT}/", "").splitlines()]
    start = next(number for number, line in enumerate(lines) if line.lstrip().startswith("ncalls"))
    return "\n".join(line for line in lines[start:] if line)


def main() -> None:
    """Print both profiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topology", nargs="?", default=LAUNCHED)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for which the agent relays")
    options = parser.parse_args()
    print(f"launch of {options.topology} with {SCHEME}\n{start_up(options.topology)}")
    print(f"one agent that relays\n{relaying(options.seconds)}")


if __name__ == "__main__":
    main()

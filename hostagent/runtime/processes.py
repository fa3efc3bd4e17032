"""How many processes the agents of a lab are in, and how many files one of these has open at a time."""

from __future__ import annotations

import math
import os

from hostagent.options import Mode

#: With more servers than these, ``auto`` puts agents together: a launch takes a tenth to a fifth less time and
#: a third less memory; one stream over several relays is slower (docs/decisions/relays-in-user-space.md).
_MANY = 1000
#: Agents that are prepared before their processes are forked; bounds the descriptors that are open meanwhile.
FORK_BATCH = 64
#: Packet sockets of a process with many agents: when it ends the kernel closes them one by one, 12 ms each.
_SOCKETS = 128
#: Descriptors of an agent besides its packet sockets; of these one per port, with a fast path one more for
#: each control protocol and for sending.
_FILES_PER_AGENT, _SOCKETS_PER_PORT = 4, 8


def alone(mode: Mode, servers: int) -> bool:
    """Whether each agent of a lab of so many servers is a process of its own."""
    return mode == "host" or (mode == "auto" and servers <= _MANY)


def supervisor_count(agents: int) -> int:
    """How many supervisors start so many agents: one per processor, fewer where one is as fast."""
    return max(1, min(len(os.sched_getaffinity(0)), agents // FORK_BATCH))


def worker_count(agents: int, sockets: int) -> int:
    """How many processes run agents that have so many packet sockets: one per processor, and more where these
    would take long to end."""
    return min(agents, max(len(os.sched_getaffinity(0)), math.ceil(sockets / _SOCKETS)))


def most_files(agents: int, ports: int, *, alone: bool) -> int:
    """The most files that a supervisor or a worker has open for so many agents, each a process of its own or
    not, of which none has more than so many ``ports``.

    A supervisor keeps the TUN device of each of its agents, and a channel to each process.
    """
    share = math.ceil(agents / supervisor_count(agents))
    channels = share if alone else worker_count(share, share * ports * _SOCKETS_PER_PORT)
    prepared = min(share, FORK_BATCH) * (_FILES_PER_AGENT + _SOCKETS_PER_PORT * ports)
    return share + channels + prepared

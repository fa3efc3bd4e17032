"""What an ovs-vswitchd hears of interfaces: those of its own namespace are enough.

Open vSwitch listens to all namespaces that its own knows by a number, which are those of all hosts at its
ports. For each change of an interface in any namespace, another lab's included, the kernel looks through
these numbers, once for each such socket. So the time for a change grew with the ports of the whole machine.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable

from dcnlab.lab.emulation.switches.shards import Shard
from hostagent.linux import descriptors

_SOL_NETLINK, _LISTEN_ALL_NSID = 270, 8


def of_own_namespace(shards: Iterable[Shard]) -> None:
    """Have the running daemons of these shards listen to their own namespaces only, where that is permitted."""
    for shard in shards:
        with contextlib.suppress(OSError):  # the daemon has ended, or the kernel forbids it: it hears more
            for handle in descriptors.sockets(shard.daemon, socket.AF_NETLINK):
                with handle:
                    handle.setsockopt(_SOL_NETLINK, _LISTEN_ALL_NSID, 0)

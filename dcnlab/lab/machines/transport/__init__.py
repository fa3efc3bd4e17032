"""How the coordinator reaches machines elsewhere: workers of Dask, or servers at Unix sockets.

contract.py      what both offer
dask_cluster.py  a scheduler whose workers are the machines
unix_socket.py   a server per machine, each at a Unix socket
this_machine.py  what a machine has, as its own process sees it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcnlab.lab.machines.transport.contract import Transport


def connect(address: str) -> Transport:
    """The machines at ``address``, the option ``machines`` of a lab; LabError when nobody answers."""
    from dcnlab.lab.options import scheduler_address as addresses  # a worker that describes itself needs none

    addresses.check(address)
    if address.startswith(addresses.UNIX):
        from dcnlab.lab.machines.transport.unix_socket import UnixSockets

        return UnixSockets(addresses.sockets(address))
    from dcnlab.lab.machines.transport.dask_cluster import DaskCluster

    return DaskCluster(address)

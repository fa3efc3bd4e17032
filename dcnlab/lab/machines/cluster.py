"""The Dask cluster whose workers are the machines of a lab, and what each machine has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.machines import this_machine
from dcnlab.lab.machines.certificates import Certificates
from dcnlab.lab.machines.placement import Machine
from dcnlab.lab.options import scheduler_address

#: Seconds to connect to the scheduler, and to hear from a worker, which may be busy and imports this first.
_TIMEOUT, _ANSWER = 30.0, 120.0


@dataclass(frozen=True)
class Worker:
    """A machine as its worker describes it: where the worker listens, the machine's address and the MTU of the
    interface that has it."""

    worker: str
    machine: Machine
    address: str
    mtu: int
    root: bool


def connect(address: str) -> Any:
    """A client of the scheduler; LabError when it does not answer."""
    scheduler_address.check(address)
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("labs on many machines need packages: pip install 'dcnlab[dask]'") from error
    security = Certificates.default().security() if address.startswith("tls:") else None
    try:
        return Client(address, security=security, timeout=_TIMEOUT)
    except OSError as error:
        reason = " ".join(str(error.__cause__ or error).split())
        raise LabError(f"machines: no scheduler answers at {address}: {reason}") from error


def workers(client: Any) -> list[Worker]:
    """The machines of a cluster, in the order of their names; UsageError when there are none."""
    known: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not known:
        raise UsageError("machines: the scheduler has no workers: start `dask worker` on each machine")
    hosts = {address: urlsplit(address).hostname or "" for address in known}
    only = {"pure": False, "allow_other_workers": False}
    waiting = {
        address: client.submit(this_machine.describe, host, workers=[address], **only)
        for address, host in hosts.items()
    }
    names = {address: str(found["name"]) for address, found in known.items()}
    found = []
    for number, address in enumerate(sorted(known, key=lambda each: (names[each], each))):
        try:
            has = waiting[address].result(timeout=_ANSWER)
        except TimeoutError as error:
            raise LabError(f"machines: the worker at {address} does not answer") from error
        machine = Machine(f"m{number}", has["cores"], has["memory"])
        found.append(Worker(address, machine, hosts[address], has["mtu"], has["root"]))
    return found

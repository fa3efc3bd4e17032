"""The Dask cluster whose workers are the machines of a lab, and what each machine has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.machines.certificates import Certificates
from dcnlab.lab.machines.machine_server import MachineServer
from dcnlab.lab.machines.transport import this_machine
from dcnlab.lab.machines.transport.contract import Answer, Worker

#: Seconds to connect to the scheduler, and to hear from a worker, which may be busy and imports this first.
_TIMEOUT, _ANSWER = 30.0, 120.0


class DaskCluster:
    """A client of the scheduler at ``address``; LabError when it does not answer."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError("labs on many machines need packages: pip install 'dcnlab[dask]'") from error
        security = Certificates.default().security() if address.startswith("tls:") else None
        try:
            self._client = Client(address, security=security, timeout=_TIMEOUT)
        except OSError as error:
            reason = " ".join(str(error.__cause__ or error).split())
            raise LabError(f"machines: no scheduler answers at {address}: {reason}") from error

    def workers(self) -> list[Worker]:
        """The machines, in the order of their workers' names; UsageError when there are none."""
        known: Mapping[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        if not known:
            raise UsageError("machines: the scheduler has no workers: start `dask worker` on each machine")
        hosts = {address: urlsplit(address).hostname or "" for address in known}
        only = {"pure": False, "allow_other_workers": False}
        waiting = {
            address: self._client.submit(this_machine.describe, host, workers=[address], **only)
            for address, host in hosts.items()
        }
        names = {address: str(worker["name"]) for address, worker in known.items()}
        workers = []
        for number, address in enumerate(sorted(known, key=lambda each: (names[each], each))):
            try:
                has = waiting[address].result(timeout=_ANSWER)
            except TimeoutError as error:
                raise LabError(f"machines: the worker at {address} does not answer") from error
            workers.append(Worker.described(number, address, hosts[address], has))
        return workers

    def worker_again(self, before: Worker) -> Worker | None:
        """The worker that is at the address of a machine now."""
        now = next((worker for worker in self.workers() if worker.address == before.address), None)
        return None if now is None else replace(now, machine=before.machine)

    def serve(self, worker: Worker, *arguments: Any, **options: Any) -> _Actor:
        """A server on a machine, which ends with its last reference, or with this process."""
        future = self._client.submit(
            MachineServer, *arguments, **options,
            actor=True, workers=[worker.worker], allow_other_workers=False, pure=False,
        )  # fmt: skip
        return _Actor(future.result())

    def close(self) -> None:
        """Need the machines no longer."""
        self._client.close()


class _Actor:
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def call(self, method: str, *arguments: Any) -> Answer:
        """Call a method; Dask returns its future."""
        answer: Answer = getattr(self._actor, method)(*arguments)
        return answer

    def close(self) -> None:
        """Let Dask release the actor."""
        self._actor = None

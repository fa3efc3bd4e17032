"""What a transport offers: the machines that it reaches, and a server of a part on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from dcnlab.lab.machines.placement import Machine
from dcnlab.lab.machines.transport.this_machine import Described


@dataclass(frozen=True)
class Worker:
    """A machine as its own process describes it: where that process listens, the machine's address and the MTU
    of the interface that has it."""

    worker: str
    machine: Machine
    address: str
    mtu: int
    root: bool

    @classmethod
    def described(cls, number: int, worker: str, address: str, has: Described) -> Worker:
        """The machine of this number."""
        return cls(worker, Machine(f"m{number}", has.cores, has.memory), address, has.mtu, has.root)


class Answer(Protocol):
    """What a method of a server will answer."""

    def result(self, timeout: float | None = None) -> Any:
        """The answer; TimeoutError when it does not come in so many seconds; another error when the machine has
        gone."""


class Server(Protocol):
    """A :class:`~dcnlab.lab.machines.machine_server.MachineServer` on its machine."""

    def call(self, method: str, *arguments: Any) -> Answer:
        """Call one of its methods."""

    def close(self) -> None:
        """Need it no longer: its machine ends the part, if that runs still."""


class Transport(Protocol):
    """The machines that a lab can have."""

    def workers(self) -> list[Worker]:
        """All of them, m0 and on; LabError when one does not answer."""

    def worker_again(self, before: Worker) -> Worker | None:
        """The machine whose worker has ended, where a new one runs; otherwise None."""

    def serve(self, worker: Worker, *arguments: Any, **options: Any) -> Server:
        """A server on a machine, made with these arguments."""

    def close(self) -> None:
        """Need the machines no longer."""

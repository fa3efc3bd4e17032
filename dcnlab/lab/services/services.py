"""All services of a lab."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from dcnlab.lab.contract.programs import ServiceLog, ServiceState
from dcnlab.lab.errors import UsageError
from dcnlab.lab.program import Program
from dcnlab.lab.running.execution import addressed
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.services.readiness import Readiness
from dcnlab.lab.services.service import Service

#: Bytes of a log that one answer holds: its end.
_MOST_LOG = 8 << 20
#: Seconds that services have to end by themselves when the lab ends.
_AT_THE_END = 1.0


class Services:
    """The services by name and node."""

    def __init__(self, session: LocalMachine) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._services: dict[tuple[str, str], Service] = {}

    def start(self, name: str, node: str, program: Program, ready: str, within: float) -> ServiceState:
        """Start a service and return when it is ready (``within`` 0: at once)."""
        node = self._session.endpoint(self._session.host(node)).name
        argv = (program.words[0], *(addressed(self._session, word, 0) for word in program.words[1:]))
        program = replace(program, words=argv)
        try:
            service = Service(name, node, program, Readiness.parse(ready))
        except ValueError as error:
            raise UsageError(str(error)) from None
        with self._lock:
            before = self._services.get((name, node))
            if before is not None and before.describe().state == "running":
                raise UsageError(f"service {name} runs in {node} already: stop it first")
            service.start(self._session)
            self._services[name, node] = service
        if within:
            service.await_ready(within)
        return service.describe()

    def wait(self, name: str, node: str, seconds: float) -> ServiceState:
        """Wait until a service is ready; LabError when it is not after so many seconds."""
        service = self._named(name, node)
        service.await_ready(seconds)
        return service.describe()

    def stop(self, name: str, node: str = "") -> list[ServiceState]:
        """End a service, in one host or in all."""
        chosen = [service for (called, at), service in self._services.items() if called == name]
        chosen = [service for service in chosen if not node or service.node == node]
        if not chosen:
            raise UsageError(f"there is no service {name}{' in ' + node if node else ''}")
        for service in chosen:
            service.stop()
        return [service.describe() for service in chosen]

    def log(self, name: str, node: str) -> ServiceLog:
        """The end of a service's log."""
        data = self._named(name, node).log.read_bytes()
        return ServiceLog(data[-_MOST_LOG:].decode(errors="replace"), len(data))

    def all(self) -> list[ServiceState]:
        """What :meth:`Service.describe` says of each."""
        return [service.describe() for service in self._services.values()]

    def end(self) -> None:
        """End all; a lab does before it ends.  The kernel ends what takes too long."""
        for service in self._services.values():
            service.terminate()
        deadline = time.monotonic() + _AT_THE_END
        for service in self._services.values():
            service.await_end(max(0.0, deadline - time.monotonic()))

    def _named(self, name: str, node: str) -> Service:
        for (called, at), service in self._services.items():
            if called == name and node in ("", at):
                return service
        raise UsageError(f"there is no service {name}{' in ' + node if node else ''}")

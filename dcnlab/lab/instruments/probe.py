"""Probes: what a measurement does on the machines of a lab, whether it has one or several.

A measurement runs in one process.  On each machine it opens a :class:`Probe`, which does there what needs the
namespaces, switches and agents of that machine.  On this machine its methods are called; on others they are
asked for by messages, in which the arguments and the answers are JSON (:mod:`dcnlab.lab.contract.codec`).
"""

from __future__ import annotations

import contextlib
import copy
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dcnlab.lab.errors import LabError
from hostagent.linux.channel import ChannelError

if TYPE_CHECKING:
    import subprocess

    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


class Probe:
    """What is done on one machine: its public methods have arguments and answers that JSON can express.

    By ``self.context`` a method reports progress, looks whether the measurement is stopped, and has a program
    end with the client.  ``self.lab`` is the machine's part of the lab.
    """

    #: Seconds by which the machine's monotonic clock is ahead of that of the process that measures.
    ahead: float = 0.0

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        self.lab, self.context = lab, context

    def runs(self, node: int) -> bool:
        """Whether the machine runs a node."""
        return self.lab.running.here(node)

    def close(self) -> None:
        """The measurement has ended."""


P = TypeVar("P", bound=Probe)
T = TypeVar("T")


class Machine(Protocol):
    """A machine of a lab, as a measurement sees it."""

    def runs(self, node: int) -> bool:
        """Whether it runs a node."""

    def probe(self, kind: type[P], context: Context) -> AbstractContextManager[P]:
        """A probe there, in a ``with`` block."""


class Context:
    """What connects a measurement that runs with the client that asked for it, and with the lab's machines.

    A probe has one as well, which adds its progress to that of the probes on other machines.
    """

    def __init__(self, call: Call, machines: Sequence[Machine] = (), *, listens: bool = True) -> None:
        """``listens``: whether it reads what the client says; otherwise somebody else calls :meth:`stop`."""
        self._call, self._machines = call, machines
        self._stopping = _Stopping(call, listens)
        self._report: Callable[[int, int, str], None] = self._report_alone

    # --- the client -----------------------------------------------------------

    def started(self) -> None:
        """Report that traffic flows: ``Lab.begin`` returns now, and a scenario continues."""
        self._call.progress({"started": True})

    def progress(self, done: int, of: int, what: str = "") -> None:
        """Report how much is done, of how much, and what is being done."""
        self._report(done, of, what)

    def wait(self, seconds: float | None, what: str = "") -> None:
        """Wait for some seconds (None: without limit), or until the client stops the measurement; with ``what``
        it reports each second of them."""
        begun = time.monotonic()
        if what and seconds is not None:
            while (passed := time.monotonic() - begun) < seconds:
                self.progress(int(passed), math.ceil(seconds), what)
                if self._stopping.wait(min(1.0, seconds - passed)):
                    return
            return
        self._stopping.wait(seconds)

    def stopped(self) -> bool:
        """Whether the client has stopped the measurement, or left, or a machine does not answer any more."""
        return self._stopping.wait(0)

    def stop(self) -> None:
        """End the measurement early: what waits goes on."""
        self._stopping.stop(left=False)

    def on_stop(self, tell: Callable[[bool], None]) -> None:
        """Call ``tell`` when the measurement is stopped, or with True when the client has left."""
        self._stopping.tell(tell)

    def terminate_with_client(self, process: subprocess.Popen[Any]) -> None:
        """End a process as soon as the client goes away."""
        from dcnlab.lab.running.process_guard import terminate_with_client  # clients do without

        terminate_with_client(self._call.channel.socket, process)

    def silent(self) -> Context:
        """Return a context for probes beside the measurement's, which its stop or end does not reach."""
        context = self._with_report(lambda done, of, what: None)
        context._stopping = _Stopping(self._call, listens=False)
        return context

    # --- the machines ---------------------------------------------------------

    def probe(self, kind: type[P], node: int) -> AbstractContextManager[P]:
        """A probe on the machine that runs a node, in a ``with`` block; LabError when that is lost."""
        for machine in self._machines:
            if machine.runs(node):
                return machine.probe(kind, self)
        raise LabError("the machine of a node is lost: see `dcnlab info`")

    def probes(self, kind: type[P]) -> AbstractContextManager[list[P]]:
        """A probe on each machine that answers, in a ``with`` block; their progress is that of all together."""
        shares = _Shares(self)
        return _opened(self._machines, kind, [shares.add() for _ in self._machines])

    def _report_alone(self, done: int, of: int, what: str) -> None:
        self._call.progress({"done": done, "of": of, "what": what})

    def _with_report(self, report: Callable[[int, int, str], None]) -> Context:
        context = copy.copy(self)
        context._report = report
        return context


class _Stopping:
    """Whether a measurement is to end early, and who is told: it is at any message of its client."""

    def __init__(self, call: Call, listens: bool) -> None:
        self._call, self._listens = call, listens
        self._stopped, self._left = threading.Event(), False
        self._told: list[Callable[[bool], None]] = []
        self._lock = threading.Lock()

    def wait(self, seconds: float | None) -> bool:
        """Wait for it; whether it is."""
        self._begin()
        return self._stopped.wait(seconds)

    def stop(self, left: bool) -> None:
        with self._lock:
            self._stopped.set()
            self._left |= left
            told = list(self._told)
        for tell in told:
            tell(left)

    def tell(self, tell: Callable[[bool], None]) -> None:
        self._begin()
        with self._lock:
            self._told.append(tell)
            stopped, left = self._stopped.is_set(), self._left
        if stopped:
            tell(left)

    def _begin(self) -> None:
        """Listen from the first question on: until then a measurement can be handed on with its client."""
        with self._lock:
            begins, self._listens = self._listens, False
        if begins:
            threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ChannelError):
            for _ in self._call.messages():
                self.stop(left=False)
        self.stop(left=True)


class _Shares:
    """The progress of several probes as one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._done: list[tuple[int, int]] = []

    def add(self) -> Context:
        """The context of one more probe."""
        number = len(self._done)
        self._done.append((0, 0))

        def report(done: int, of: int, what: str) -> None:
            self._done[number] = done, of
            self._context.progress(sum(one for one, _ in self._done), sum(all for _, all in self._done), what)

        return self._context._with_report(report)


def probe_at(probes: Sequence[P], node: int) -> P:
    """The probe on the machine that runs a node; LabError when that is lost."""
    for probe in probes:
        if probe.runs(node):
            return probe
    raise LabError("the machine of a node is lost: see `dcnlab info`")


def at_once(probes: Sequence[P], ask: Callable[[P], T]) -> list[T]:
    """What all machines answer, asked at the same time."""
    if len(probes) == 1:
        return [ask(probes[0])]
    from concurrent.futures import ThreadPoolExecutor  # clients do without

    with ThreadPoolExecutor(max(1, len(probes))) as pool:
        return list(pool.map(ask, probes))


@contextlib.contextmanager
def _opened(machines: Sequence[Machine], kind: type[P], contexts: Sequence[Context]) -> Iterator[list[P]]:
    """A probe on each machine, in a ``with`` block."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(machine.probe(kind, context))
            for machine, context in zip(machines, contexts, strict=True)
        ]

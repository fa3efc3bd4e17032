"""Probes: what a measurement does on the machines of a lab, whether it has one or several.

A measurement runs in one process.  On each machine it opens a :class:`Probe`, which does there what needs the
namespaces, switches and agents of that machine.  On this machine its methods are called; on others they are
asked for by messages, in which the arguments and the answers are JSON (:mod:`dcnlab.lab.instruments.plain`).
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_type_hints

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import plain

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.instruments.measurement import Context
    from dcnlab.lab.running.lab import RunningLab


class Probe:
    """What is done on one machine: its public methods have arguments and answers that JSON can express.

    By ``self.context`` a method reports progress, looks whether the measurement is stopped, and has a program
    end with the client.  ``self.lab`` is the machine's part of the lab.
    """

    #: Seconds by which the machine's monotonic clock is ahead of that of the process that measures.
    ahead: float = 0.0

    def __init__(self, lab: RunningLab, context: Context) -> None:
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


class LocalMachine:
    """This machine."""

    def __init__(self, lab: RunningLab) -> None:
        self._lab = lab

    def runs(self, node: int) -> bool:
        """Whether it runs a node."""
        return self._lab.running.here(node)

    def probe(self, kind: type[P], context: Context) -> AbstractContextManager[P]:
        """A probe here."""
        return contextlib.closing(kind(self._lab, context))


def at_once(probes: Sequence[P], ask: Callable[[P], T]) -> list[T]:
    """What all machines answer, asked at the same time."""
    if len(probes) == 1:
        return [ask(probes[0])]
    with ThreadPoolExecutor(max(1, len(probes))) as pool:
        return list(pool.map(ask, probes))


def methods(kind: type[Probe]) -> dict[str, Callable[..., Any]]:
    """What other machines may ask a probe for."""
    found = {name: item for name, item in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    return {name: item for name, item in found.items() if name not in vars(Probe)}


def encode(method: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method by name, as JSON."""
    bound = inspect.signature(method).bind(None, *values, **named).arguments
    return {name: plain.encode(value) for name, value in list(bound.items())[1:]}


def find(module: str, name: str) -> type[Probe]:
    """The class of a probe; UsageError when there is none of that name."""
    kind = getattr(importlib.import_module(module), name, None)
    if not (inspect.isclass(kind) and issubclass(kind, Probe)):
        raise UsageError(f"{module} has no probe {name}")
    return kind


def serve(call: Call, probe: Probe) -> None:
    """Answer what another machine asks a probe of this one for, until that leaves.

    ``{"ask": number, "method": ..., "arguments": {}}`` is answered with ``{"answer": number, "value": ...}``,
    or with ``"error"`` and its ``"code"``; ``{"stop": true}`` says that the measurement is to end early.
    """
    call.progress({"serves": True})
    try:
        for message in call.messages():
            if "ask" in message:
                threading.Thread(target=_answer, args=(call, probe, message), daemon=True).start()
            else:
                probe.context.stop()
    finally:
        probe.context.stop()
        probe.close()


def _answer(call: Call, probe: Probe, message: Mapping[str, Any]) -> None:
    """Answer one question, in a thread of its own: some take long."""
    found: dict[str, Any]
    try:
        found = {"value": _asked(probe, message["method"], message["arguments"])}
    except LabError as error:
        found = {"error": str(error), "code": error.exit_code}
    except Exception as error:  # who asks must not wait for ever
        found = {"error": f"{type(error).__name__}: {error}", "code": LabError.exit_code}
    with contextlib.suppress(OSError):  # who asked has left
        call.progress({"answer": message["ask"], **found})


def _asked(probe: Probe, name: str, arguments: Mapping[str, Any]) -> Any:
    method = methods(type(probe)).get(name)
    if method is None:
        raise UsageError(f"{type(probe).__name__} cannot be asked for {name}")
    hints = get_type_hints(method)
    return plain.encode(method(probe, **{key: plain.decode(hints[key], one) for key, one in arguments.items()}))


@contextlib.contextmanager
def opened(machines: Sequence[Machine], kind: type[P], contexts: Sequence[Context]) -> Iterator[list[P]]:
    """A probe on each machine, in a ``with`` block."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(machine.probe(kind, context))
            for machine, context in zip(machines, contexts, strict=True)
        ]

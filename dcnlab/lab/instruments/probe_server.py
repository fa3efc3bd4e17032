"""The probes of this machine, for a measurement in this process or in that of another machine."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, get_type_hints

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import plain
from dcnlab.lab.instruments.probe import Context, P, Probe

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


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

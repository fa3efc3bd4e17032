"""The probes of this machine, for a measurement in this process or in that of another machine."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from dcnlab.lab.contract import codec
from dcnlab.lab.contract.machine import ProbeAnswer, ProbeQuestion
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.probe import Probe


def methods(kind: type[Probe]) -> dict[str, Callable[..., Any]]:
    """What other machines may ask a probe for."""
    functions = {name: item for name, item in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    return {name: item for name, item in functions.items() if name not in vars(Probe)}


def encode(method: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]) -> JsonObject:
    """The arguments of a method by name, as JSON."""
    bound = inspect.signature(method).bind(None, *values, **named).arguments
    return {name: codec.encode(value) for name, value in list(bound.items())[1:]}


def find(module: str, name: str) -> type[Probe]:
    """The class of a probe; UsageError when there is none of that name."""
    kind = getattr(importlib.import_module(module), name, None)
    if not (inspect.isclass(kind) and issubclass(kind, Probe)):
        raise UsageError(f"{module} has no probe {name}")
    return kind


def serve(call: Call, probe: Probe) -> None:
    """Answer what another machine asks a probe of this one for, until that leaves.

    A :class:`ProbeQuestion` is answered with a :class:`ProbeAnswer`; ``{"stop": true}``: the measurement
    is to end early.
    """
    call.progress({"serves": True})
    try:
        for message in call.messages():
            if "ask" in message:
                threading.Thread(
                    target=_answer, args=(call, probe, codec.decode_fields(ProbeQuestion, message)), daemon=True
                ).start()
            else:
                probe.context.stop()
    finally:
        probe.context.stop()
        probe.close()


def _answer(call: Call, probe: Probe, question: ProbeQuestion) -> None:
    """Answer one question, in a thread of its own: some take long."""
    number = question.ask
    try:
        answer = ProbeAnswer(number, _asked(probe, question.method, question.arguments))
    except LabError as error:
        answer = ProbeAnswer(number, error=str(error), code=error.exit_code)
    except Exception as error:  # who asks must not wait for ever
        answer = ProbeAnswer(number, error=f"{type(error).__name__}: {error}", code=LabError.exit_code)
    with contextlib.suppress(OSError):  # who asked has left
        call.progress(codec.encode(answer))


def _asked(probe: Probe, name: str, arguments: Mapping[str, Any]) -> Any:
    method = methods(type(probe)).get(name)
    if method is None:
        raise UsageError(f"{type(probe).__name__} cannot be asked for {name}")
    hints = get_type_hints(method)
    return codec.encode(method(probe, **{key: codec.decode(hints[key], one) for key, one in arguments.items()}))

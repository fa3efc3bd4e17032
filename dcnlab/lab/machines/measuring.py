"""Measurements of a lab on many machines: made where their servers are, or on each machine and put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.machines import network
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.rpc import Call
from dcnlab.lab.session import operations as session_operations


class Measuring:
    """The measurements of one lab."""

    def __init__(self, lab: WholeLab) -> None:
        self._lab = lab

    def measure(self, call: Call) -> Any:
        """Measure on each machine what can be measured there, and combine it; or where the first server is."""
        wanted = session_operations.requested_measurement(call)
        kind = type(wanted)
        if kind.measure_part is Measurement.measure_part:
            return self._measure_at_source(call, wanted)
        return wanted.conclude(network.of(self._lab), self._on_each(call)).to_json()

    def _measure_at_source(self, call: Call, wanted: Measurement[Any]) -> Any:
        names = [getattr(wanted, name, "") for name in ("a", "b")]
        if not all(isinstance(name, str) and name for name in names):
            raise UsageError(f"{wanted.name} is not there yet for labs on several machines")
        source, target = (self._lab.part_of(self._lab.node(name)) for name in names)
        if source is target or wanted.one_sided:
            return source.serve(call)
        with target.serving(**_words(call)) as served:
            call.request["served"] = served
            return source.serve(call)

    def _on_each(self, call: Call) -> list[Any]:
        """What each machine measures; progress is that of all together."""
        done: dict[str, tuple[int, int]] = {}

        def progress(part: RemotePart) -> Callable[[Any], None]:
            def report(value: Any) -> None:
                if "done" not in value:
                    call.progress(value)
                    return
                done[part.name] = value["done"], value["of"]
                total = [sum(each) for each in zip(*done.values(), strict=True)]
                call.progress({**value, "done": total[0], "of": total[1]})

            return report

        words = _words(call)
        return self._lab.on_all(lambda part: part.ask("measure", progress(part), **words, part=True))


def _words(call: Call) -> dict[str, Any]:
    """The fields of a request without the name of the operation."""
    return {key: value for key, value in call.request.items() if key != "op"}

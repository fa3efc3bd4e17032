"""Measurements of a lab on many machines: made where their servers are, or on each machine and put together."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement, PartContext
from dcnlab.lab.machines import network
from dcnlab.lab.machines.flow_places import RemotePlace
from dcnlab.lab.machines.measured_lab import measure
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.session import operations as session_operations


class Measuring:
    """The measurements of one lab."""

    def __init__(self, lab: WholeLab) -> None:
        self._lab = lab

    def measure(self, call: Call) -> Any:
        """Measure on each machine what can be measured there, and combine it; or where the first server is."""
        wanted = session_operations.requested_measurement(call)
        if not wanted.uses_parts():
            return measure(self._lab, call, wanted)
        if wanted.conducted:
            return self._conduct(call, wanted)
        if wanted.served_by_other:
            return self._measure_with_other(call, wanted)
        if type(wanted).measure_part is Measurement.measure_part:
            return self._measure_at_source(call, wanted)
        return wanted.conclude(network.of(self._lab), self._on_each(call)).to_json()

    def _ends(self, wanted: Measurement[Any]) -> tuple[RemotePart, RemotePart]:
        """The parts with its two servers."""
        names = [getattr(wanted, name, "") for name in ("a", "b")]
        if not all(isinstance(name, str) and name for name in names):
            raise UsageError(f"{wanted.name} is not there yet for labs on several machines")
        source, target = (self._lab.part_of(self._lab.node(name)) for name in names)
        return source, target

    def _measure_at_source(self, call: Call, wanted: Measurement[Any]) -> Any:
        source, target = self._ends(wanted)
        if source is not target and not wanted.one_sided:
            raise UsageError(f"{wanted.name} is not there yet between machines")
        return source.serve(call)

    def _measure_with_other(self, call: Call, wanted: Measurement[Any]) -> Any:
        """Measure where the first server is, while the machine of the second serves."""
        source, target = self._ends(wanted)
        if target is source:
            return source.serve(call)
        call.request["number"] = random.SystemRandom().randrange(1 << 16)
        with target.serving(call.progress, **_words(call)) as served:
            call.request["served"] = served.value.result()
            if type(wanted).measure_part is Measurement.measure_part:
                return source.serve(call, [served])
            call.request["part"] = True
            parts = [source.serve(call, [served]), served.finish()]
        return wanted.conclude(network.of(self._lab), parts).to_json()

    def _conduct(self, call: Call, wanted: Measurement[Any]) -> Any:
        """Measure from here, by programs on all machines; they end with the client."""
        places = [RemotePlace(part) for part in self._lab.living]
        with contextlib.ExitStack() as stack:
            for place in places:
                stack.enter_context(place.opened(**_words(call)))
            threading.Thread(target=_stop_with, args=(call, places), daemon=True).start()
            impaired = self._lab.ask_all("impair")[0]["links"]
            return wanted.conduct(network.of(self._lab), impaired, places, PartContext(call)).to_json()

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


def _stop_with(call: Call, places: Sequence[RemotePlace]) -> None:
    """Have machines end what they serve when the client stops or leaves."""
    for _ in call.messages():
        break
    for place in places:
        place.stop()


def _words(call: Call) -> dict[str, Any]:
    """The fields of a request without the name of the operation."""
    return {key: value for key, value in call.request.items() if key != "op"}

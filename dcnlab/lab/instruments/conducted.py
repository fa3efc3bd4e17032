"""Measurements that are conducted: one process asks all machines of a lab, whether they are one or several.

A :class:`Side` on each machine does there what it is asked to.  Where one machine runs the lab, its session
conducts; otherwise the coordinator does, and asks the machines by messages
(:mod:`dcnlab.lab.instruments.flow_relay`).  So there is one implementation for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.measurement import Measurement, R
from dcnlab.lab.instruments.side import Side

if TYPE_CHECKING:
    from dcnlab.lab.instruments.flow_place import Place
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


class Conducted(Measurement[R]):
    """A measurement that defines ``conduct``, and what is done on each machine (:meth:`side`)."""

    conducted: ClassVar[bool] = True

    def side(self, lab: RunningLab, context: Any) -> Side:
        """What is done on the machine of a lab, or of one part of it."""
        return Side()

    def run(self, lab: RunningLab, context: Any) -> R:
        from dcnlab.lab.instruments.flow_place import LocalPlace
        from dcnlab.lab.running import impairing

        with LocalPlace(lab, context.terminate_with_client, self.side(lab, context)) as place:
            return self.conduct(self.network(lab), impairing.change(lab, {})["links"], [place], context)

    def network(self, lab: RunningLab) -> Network:
        """The network of a lab on one machine; a measurement that asks switches defines it."""
        from dcnlab.lab.running.network import Network

        return Network(lab.scheme, lab.link_state.state(), lab.running.choice.tables, _unasked)

    def serve_part(self, lab: RunningLab, context: Any) -> None:
        """Do on this machine what the coordinator asks for."""
        from dcnlab.lab.instruments import flow_relay
        from dcnlab.lab.instruments.flow_place import LocalPlace

        context.offer("programs")
        with LocalPlace(lab, context.terminate_with_client, self.side(lab, context)) as place:
            flow_relay.relay(place, context)


def _unasked(at: object, frame: object) -> Any:
    """Instead of what a switch does with a frame, which no measurement asks here."""
    raise NotImplementedError


def place_of(places: Sequence[Place], server: int) -> Place:
    """The machine that runs a server; LabError when that is lost."""
    from dcnlab.lab.errors import LabError

    for place in places:
        if place.has(server):
            return place
    raise LabError("the machine of a server is lost: see `dcnlab info`")


def on_each(places: Sequence[Place], method: str, **words: Any) -> list[Any]:
    """The answers of all machines."""
    return [place.ask(method, **words) for place in places]


def at_once(places: Sequence[Place], method: str, **words: Any) -> list[Any]:
    """The same, asked at the same time: for what takes long."""
    with ThreadPoolExecutor(len(places)) as pool:
        return list(pool.map(lambda place: place.ask(method, **words), places))

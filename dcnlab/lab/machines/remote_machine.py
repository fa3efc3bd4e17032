"""Another machine of a lab (:mod:`dcnlab.lab.coordinator.machine`), and probes there."""

from __future__ import annotations

import contextlib
import functools
import itertools
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, get_type_hints

from dcnlab.lab import naming
from dcnlab.lab.contract import codec
from dcnlab.lab.contract.machine import Apply, LinksSet, MachineUnreachable, ProbeAnswer, ProbeQuestion
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.control import rpc
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import probe_server
from dcnlab.lab.instruments.probe import Context, P, Probe
from dcnlab.lab.machines.remote_part import Asking, RemotePart
from dcnlab.lab.machines.transport.contract import Transport, Worker
from dcnlab.lab.operations.change_links import ChangeLinks
from dcnlab.lab.operations.connect import Connect
from dcnlab.lab.operations.elsewhere import Elsewhere
from dcnlab.lab.operations.impair import Impair
from dcnlab.lab.operations.probe import ServeProbe
from dcnlab.lab.options.link_shape import Direction, Shape
from dcnlab.lab.options.local_part import LocalPart
from topos import plugins

#: Seconds within which a store on another machine must answer: its own time to connect, and more.
_CONNECT_TIMEOUT = 10.0
A = TypeVar("A")
_ENDED = "the machine's part has ended"


class RemoteMachine(RemotePart):
    """Another machine of a lab: what is asked of it is asked of the lab that runs there."""

    def __init__(
        self,
        transport: Transport,
        worker: Worker,
        part: LocalPart,
        lab: Coordinator,
        addresses: Mapping[str, str],
    ) -> None:
        """``addresses`` are those of all machines of ``lab``, by name."""
        super().__init__(transport, worker, part)
        self._fabric, self._link_state, self._addresses = lab.fabric, lab.link_state, addresses
        #: Called with the error when it has not answered.
        self.on_unreachable: Callable[[Exception], None] = lambda _: None

    def runs(self, node: int) -> bool:
        return node in self.part.nodes

    def is_here(self) -> bool:
        return False

    def perform(self, wanted: Operation[A], call: Call | None = None) -> A:
        return wanted.read(self.ask(**wanted.request()) if call is None else self.serve(call))

    @property
    def impairments(self) -> Mapping[Direction, Shape]:
        """The impairments of links, by direction."""
        shapes = ((one, Shape().changed(one.impairments)) for one in self.perform(Impair()).links)
        return {
            direction: shape
            for one, shape in shapes
            for direction in naming.directions(self._fabric, (one.number,), one.sender)
        }

    def set_links(self, links: Sequence[int], up: bool) -> Callable[[], LinksSet]:
        """Take the ends of links down that it has, or bring them up; what that has done."""
        done = self.perform(ChangeLinks(tuple(links), up))
        self._link_state.report_observed(self.name, done.observed)
        return lambda: LinksSet(done.detection_ms, done.flow_mods, done.switches, done.tables_ms)

    def apply(self, update: Apply) -> None:
        """Have its agents and switches follow what others see of links; LabError when they do not."""
        absent = {self._addresses[name] for name in update.unreachable}
        unreachable = [link for link, address in self.part.peers.items() if address in absent]
        try:
            self.perform(Elsewhere(tuple(sorted(update.elsewhere)), tuple(unreachable)))
        except MachineUnreachable as error:
            self.on_unreachable(error)
            raise

    def inside(self, name: str, argv: list[str]) -> list[str]:
        raise LabError(f"{name} is on another machine")

    def connect(self, server: int, address: str, port: int) -> socket.socket:
        """A connection from a server there; its end comes at once when nobody accepts it."""
        near, far = socket.socketpair()
        near.settimeout(_CONNECT_TIMEOUT)
        request = Connect(self._fabric.name(server), port, address).request()

        def end(_: int) -> None:
            with contextlib.suppress(OSError):  # the other end has closed it
                far.shutdown(socket.SHUT_WR)

        def carry() -> None:
            both = [far.fileno(), far.fileno()]
            with far, contextlib.suppress(LabError, OSError), rpc.without_client(request, both) as call:
                self.serve(call, on_output_end=end)

        threading.Thread(target=carry, daemon=True, name="connection").start()
        return near

    @contextlib.contextmanager
    def probe(self, kind: type[P], context: Context) -> Iterator[P]:
        """A probe there.  When the machine does not answer any more, the measurement is stopped; the error is
        raised at the next question, and at the end."""
        serves, answers, left = Future[None](), _Answers(context), threading.Event()
        wanted = ServeProbe(kind.__module__, kind.__name__, tuple(plugins.loaded()))

        def hear(value: JsonObject) -> None:
            if "serves" in value:
                serves.set_result(None)
            else:
                answers.hear(value)

        def end(ended: Future[Any]) -> None:
            if not serves.done():
                serves.set_exception(ended.exception() or LabError(_ENDED))
            answers.end(ended)
            if not left.is_set():
                context.stop()

        with self.asking(hear, **wanted.request()) as asking:
            asking.result.add_done_callback(end)
            serves.result()
            context.on_stop(lambda left: _tell(asking, left))
            remote: P = _proxy(kind)(functools.partial(answers.ask, asking))
            remote.ahead = self.ahead()
            setattr(remote, "runs", self.runs)  # noqa: B010
            try:
                yield remote
            finally:
                left.set()


def _tell(asking: Asking, left: bool) -> None:
    with contextlib.suppress(LabError):
        if left:
            asking.leave()
        elif not asking.result.done():
            asking.send({"stop": True})


class _Answers:
    """The questions to a probe that wait for an answer."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers = itertools.count()
        self._waiting: dict[int, queue.Queue[ProbeAnswer]] = {}

    def ask(self, asking: Asking, method: str, arguments: JsonObject) -> Any:
        """The answer as JSON; LabError and UsageError as the probe raises them."""
        number = next(self._numbers)
        answer = self._waiting[number] = queue.Queue()
        if asking.result.done():
            raise asking.result.exception() or LabError(_ENDED)
        asking.send(codec.encode(ProbeQuestion(number, method, arguments)))
        told = answer.get()
        del self._waiting[number]
        if told.error:
            raise (UsageError if told.code == UsageError.exit_code else LabError)(told.error)
        return told.value

    def hear(self, value: JsonObject) -> None:
        """A message of the probe: an answer, or progress."""
        if "answer" in value:
            self._waiting[value["answer"]].put(codec.decode_fields(ProbeAnswer, value))
        else:
            self._context.progress(**value)

    def end(self, ended: Future[Any]) -> None:
        """Tell all who wait why nothing comes any more."""
        error = str(ended.exception() or _ENDED)
        for number, answer in list(self._waiting.items()):  # others may ask meanwhile
            answer.put(ProbeAnswer(number, error=error))


def _proxy(kind: Any) -> Any:
    """A class with the methods of a probe, each of which asks the probe on the other machine."""

    def begin(self: Any, ask: Callable[[str, JsonObject], Any]) -> None:
        self._other = ask

    def asking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        answer = get_type_hints(method)["return"]

        def ask(self: Any, *values: Any, **named: Any) -> Any:
            return codec.decode(answer, self._other(name, probe_server.encode(method, values, named)))

        return ask

    functions = {name: asking(name, method) for name, method in probe_server.methods(kind).items()}
    return type(kind.__name__, (kind,), {"__init__": begin, "close": Probe.close, **functions})

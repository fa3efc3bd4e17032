"""What a measurement is: a frozen dataclass whose fields are its arguments.

    @dataclass(frozen=True)
    class Iperf(Measurement[IperfResult]):
        '''TCP or UDP throughput between two servers, by iperf3.'''

        name: ClassVar[str] = "iperf"

        a: str = server("The server that sends.")
        b: str = server("The server that receives.")
        seconds: float = argument("How long, in seconds.", default=3.0, low=0.1)

        def run(self, lab, context): ...

A file of ``dcnlab/lab/measurement`` that defines such a class is found by its name.  From the class
follow the operation of the session, ``lab.iperf("h0", "h5")`` in Python, the command ``dcnlab iperf
LAB h0 h5``, the scenario entry ``- iperf: h0 -> h5``, the JSON and the table.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments import arguments
from dcnlab.lab.instruments.probe import Context as Context
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.instruments.flow_place import Place
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network

R = TypeVar("R", bound=Result)


class PartContext:  # until all measurements use probes
    """The connection between a measurement that runs and the client that asked for it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        #: What another machine offers (:meth:`Measurement.serve_part`); empty on one machine.
        self.served = str(call.request.get("served", ""))
        #: A random number of 16 bits, the same on all machines.
        self.number = int(call.request.get("number", int.from_bytes(os.urandom(2))))

    def offer(self, value: str) -> None:
        """Report what the machine of the first server needs to know (:meth:`Measurement.serve_part`)."""
        self._call.progress({"served": value})

    def await_other(self) -> bool:
        """Wait until the other machine says that traffic has started; False when the measurement is stopped."""
        received: list[dict[str, Any]] | None = self._call.pending
        while received == []:  # nothing yet, or a part of a line
            received = self._call.channel.receive()
        first, *self._call.pending = received or [{}]
        return "go" in first

    def started(self) -> None:
        """Report that traffic flows: ``Lab.begin`` returns now, and a scenario continues."""
        self._call.progress({"started": True})

    def progress(self, done: int, of: int, what: str = "") -> None:
        """Report how much is done, of how much, and what is being done."""
        self._call.progress({"done": done, "of": of, "what": what})

    def tell(self, value: Mapping[str, Any]) -> None:
        """Tell the coordinator something, from a machine that serves."""
        self._call.progress(value)

    def messages(self) -> Iterator[Mapping[str, Any]]:
        """What the coordinator says, until it leaves."""
        return self._call.messages()

    def wait(self, seconds: float | None) -> None:
        """Wait for some seconds (None: without limit), or until the client stops the measurement."""
        if self._call.pending:
            return
        poll = select.poll()
        poll.register(self._call.channel.socket, select.POLLIN | select.POLLRDHUP)
        poll.poll(None if seconds is None else seconds * 1000)

    def stopped(self) -> bool:
        """Whether the client has stopped the measurement, or left."""
        if self._call.pending:
            return True
        try:
            found = self._call.channel.socket.recv(1 << 12, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return not found or b'"stop"' in found

    def terminate_with_client(self, process: subprocess.Popen[str]) -> None:
        """End a process as soon as the client goes away."""
        from dcnlab.lab.running.process_guard import terminate_with_client

        terminate_with_client(self._call.channel.socket, process)


@dataclass(frozen=True)
class Measurement(ABC, Generic[R]):
    """Base of all measurements; the first line of a subclass's docstring is its summary."""

    #: The name of the command, the operation and the scenario entry; the file has it too, with ``_`` for ``-``.
    name: ClassVar[str]
    #: The key of the scenario entry where that is another one.
    entry: ClassVar[str] = ""
    #: Whether a command is generated; not where a hand-written one does more.
    command: ClassVar[bool] = True
    #: Whether it runs until the client stops it when ``seconds`` is None.
    stoppable: ClassVar[bool] = False
    #: Whether it returns what it has measured, as a result with ``partial``, when the client stops it early.
    interruptible: ClassVar[bool] = False
    #: Whether only the first of its two servers runs a program, so that the other may be on another machine.
    one_sided: ClassVar[bool] = False
    #: Whether the machine of the second server runs :meth:`serve_part` meanwhile, if that is another one; with
    #: ``measure_part`` where the first server is, both yield what is combined.
    served_by_other: ClassVar[bool] = False
    #: Whether the coordinator of a lab on several machines measures itself, by :meth:`conduct`.
    conducted: ClassVar[bool] = False
    #: Command lines for the help; LAB stands for a lab's name.
    examples: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def run(self, lab: Any, context: Any) -> R:
        """Measure, in the process that serves the lab; raises LabError or UsageError.

        ``lab`` is a :class:`MeasuredLab`; where one machine runs all of it, the running lab itself.
        """

    def uses_parts(self) -> bool:
        """Whether it still runs by one of the former models."""
        return (
            self.conducted or self.served_by_other or self.one_sided
            or type(self).measure_part is not Measurement.measure_part
        )  # fmt: skip

    def measure_part(self, lab: RunningLab, context: Any) -> Any:
        """Measure what one machine's part of a lab can, as a JSON value for :meth:`combine`; UsageError where a
        measurement needs a lab on one machine."""
        raise UsageError(f"{self.name} is not there yet for labs on several machines")

    def serve_part(self, lab: RunningLab, context: Any) -> Any:
        """What another machine than the first server's does: ``context.offer`` what that one needs to know,
        such as a port, and ``context.wait`` until it has measured.  A JSON value for :meth:`combine`."""
        raise UsageError(f"{self.name} is not there yet between machines")

    def conduct(
        self, network: Network, impaired: Sequence[Mapping[str, Any]], places: Sequence[Place], context: Any
    ) -> R:
        """Measure by programs on the machines of a lab (``places``), which run :meth:`serve_part` meanwhile;
        ``impaired``: the links that have impairments."""
        raise NotImplementedError

    @classmethod
    def combine(cls, parts: Sequence[Any]) -> R:
        """The result of a lab on several machines, from what :meth:`measure_part` returned on each."""
        raise NotImplementedError

    def conclude(self, network: Network, parts: Sequence[Any]) -> R:
        """The same, for a measurement that needs the whole network for it."""
        return self.combine(parts)

    def check(self) -> None:
        """Raise UsageError for arguments that are wrong in every lab."""
        arguments.check(self)

    def check_files(self) -> None:
        """Raise UsageError for files that are missing or wrong; only where they are."""

    @classmethod
    def targets(cls, text: object) -> dict[str, Any]:
        """The arguments that the value of a scenario entry stands for; ValueError with half a sentence."""
        return arguments.read_servers(cls, text)

    @classmethod
    def targets_form(cls) -> str:
        """How that value is written, in Markdown; empty when the entry has none."""
        form = arguments.servers_form(cls)
        return f"`{form}`" if form else ""

    @classmethod
    def result(cls) -> type[R]:
        """The class of the result: what stands in ``Measurement[...]``."""
        for base in cls.__orig_bases__:  # type: ignore[attr-defined]
            origin = typing.get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Measurement):
                return typing.cast(type[R], typing.get_args(base)[0])
        raise TypeError(f"{cls.__name__} must be a subclass of Measurement[its result]")

    def to_json(self) -> dict[str, Any]:
        """The arguments as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The measurement with these arguments; UsageError when they are wrong."""
        found = arguments.from_json(cls, value)
        found.check()
        return found

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

import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from dcnlab.lab.contract import fields as arguments
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.instruments.probe import Context as Context
from dcnlab.lab.instruments.result import Result

R = TypeVar("R", bound=Result)


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
    #: Whether what it finds depends on how fast the machine is: a verdict then says whether that was enough.
    timed: ClassVar[bool] = True
    #: A request of the HTTP interface beside ``POST /measurements/NAME``, such as ``GET /stats``, and what it
    #: returns, in words.
    http: ClassVar[str] = ""
    returns: ClassVar[str] = "The result."
    #: Command lines for the help; LAB stands for a lab's name.
    examples: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def run(self, lab: Any, context: Any) -> R:
        """Measure, in the process that serves the lab; raises LabError or UsageError.

        ``lab`` is the coordinator of the lab, as a :class:`MeasuredLab`.
        """

    def check(self) -> None:
        """Raise UsageError for arguments that are wrong in every lab."""
        arguments.check(self)

    def check_files(self) -> None:
        """Raise UsageError for files that are missing or wrong; only where they are."""

    @classmethod
    def targets(cls, text: object) -> JsonObject:
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

    def to_json(self) -> JsonObject:
        """The arguments as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The measurement with these arguments; UsageError when they are wrong."""
        wanted = arguments.from_json(cls, value)
        wanted.check()
        return wanted

"""What an operation of a lab is: a frozen dataclass whose fields are the request.

    @dataclass(frozen=True)
    class Queues(Operation[list[Queue]]):
        '''What waits at the ports that have a queue, and what was dropped there.'''

        name: ClassVar[str] = "queues"
        route: ClassVar[Route] = Route.EVERYWHERE
        records: ClassVar[bool] = False

        def perform(self, lab, call): ...

A file of ``dcnlab/lab/operations`` that defines such a class is found by its name; so is one of ``--custom``,
or of an installed package.  From the class follow what passes the control socket, which machine of a lab
performs it, and how Python, the HTTP interface and the command line ask for it.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar

from dcnlab.lab.contract.codec import decode, encode, hints
from dcnlab.lab.contract.fields import check
from dcnlab.lab.errors import UsageError

A = TypeVar("A")
#: Metadata of a field that a request leaves out where it has its default value, and of one that is called
#: ``name`` there, or ``what``.
OPTIONAL = {"optional": True}
NAME, WHAT = {"called": "name"}, {"called": "what"}
#: What a field of a request must be, by its type.
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class Route(Enum):
    """Who performs an operation, whether a lab has one machine or several."""

    #: The coordinator, for the lab as a whole.
    COORDINATOR = "coordinator"
    #: The machine of the node that the request names; all, if it names none.
    NODE = "node"
    #: All machines; their answers are merged.
    EVERYWHERE = "everywhere"


@dataclass(frozen=True)
class Operation(ABC, Generic[A]):
    """Base of all operations; ``A`` is the answer.  The first line of a subclass's docstring is its summary."""

    #: Its name; the file has it too, with ``_`` for ``-``, and so have requests.
    name: ClassVar[str]
    route: ClassVar[Route] = Route.COORDINATOR
    #: The field that names the node, for Route.NODE.
    at: ClassVar[str] = "node"
    #: Whether the journal names it: not where it only reads.
    records: ClassVar[bool] = True
    #: Whether it is for clients: not where machines of one lab ask each other.
    public: ClassVar[bool] = True
    #: Whether the method of ``Lab`` that asks for it is written by hand; others are generated.
    by_hand: ClassVar[bool] = False
    #: How many descriptors of the client it needs.
    descriptors: ClassVar[int] = 0
    #: Seconds without a word of the lab after which a client waits no longer; None where it does what takes as
    #: long as the client wants.
    limit: ClassVar[float | None] = 300.0
    #: Its requests in the HTTP interface, such as ``GET /nodes/{node}/table``, separated by commas, and what
    #: they return, in words.
    http: ClassVar[str] = ""
    returns: ClassVar[str] = "The result."
    #: Command lines for the help; LAB stands for a lab's name.  One of the repository has a command made from
    #: its class where there are some.
    examples: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def perform(self, lab: Any, call: Any) -> A:
        """Do it; LabError or UsageError.  ``lab`` is the coordinator, or with another route than
        Route.COORDINATOR the machine, of one or of several."""

    def node_of(self, lab: Any) -> int | None:
        """For Route.NODE: the node whose machine performs it; None where the request names none, or a host
        that was added: such a lab has one machine."""
        name = getattr(self, self.at)
        node: int | None = lab.node(name) if name and name not in lab.later else None
        return node

    @classmethod
    def merge(cls, answers: Sequence[A]) -> A:
        """One answer from those of several machines; by default the items of all."""
        return typing.cast(A, [one for each in answers for one in typing.cast(Sequence[Any], each)])

    @classmethod
    def at_path(cls, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields that the parameters in the path of an HTTP request stand for."""
        return parameters

    def check(self) -> None:
        """Raise UsageError for what a command line or an HTTP request should not ask for."""
        check(self)

    @property
    def recorded(self) -> bool:
        """Whether the journal names this request."""
        return self.records

    @classmethod
    def answer(cls) -> Any:
        """The type of the answer: what stands in ``Operation[...]``."""
        for base in cls.__orig_bases__:  # type: ignore[attr-defined]
            if isinstance(kind := typing.get_origin(base), type) and issubclass(kind, Operation):
                return typing.get_args(base)[0]
        raise TypeError(f"{cls.__name__} must be a subclass of Operation[its answer]")

    @classmethod
    def op(cls) -> str:
        """What a request calls it."""
        return cls.name.replace("-", "_")

    def to_json(self) -> Mapping[str, Any]:
        """The fields of the request as a JSON object."""
        values = ((item, getattr(self, item.name)) for item in fields(self))
        return {
            item.metadata.get("called", item.name): encode(value)
            for item, value in values
            if "optional" not in item.metadata or value != item.default
        }

    def request(self) -> dict[str, Any]:
        """What passes the control socket; with the user's files that may define the operation."""
        request = {"op": self.op(), **self.to_json()}
        if not type(self).__module__.startswith("dcnlab."):
            from topos import plugins  # the program's own operations need no file

            request["custom"] = plugins.loaded()
        return request

    @classmethod
    def from_json(cls, request: Mapping[str, Any]) -> Self:
        """The operation that a request asks for; UsageError for a field that is missing or of the wrong kind.
        Fields that it does not know are not read."""
        known, values = hints(cls), {}
        for item in fields(cls):
            name = item.metadata.get("called", item.name)
            if name in request:
                values[item.name] = _value(cls.op(), name, known[item.name], request[name])
            elif item.default is MISSING and item.default_factory is MISSING:
                raise UsageError(f"a request for {cls.op()!r} needs {name!r}")
        operation = cls(**values)
        check(operation)
        return operation

    @classmethod
    def read(cls, answer: Any) -> A:
        """The answer from its JSON value; an empty object stands for None."""
        kind = cls.answer()
        nothing = not answer and type(None) in (kind, *typing.get_args(kind))
        return typing.cast(A, None if nothing else decode(kind, answer))


def _value(operation: str, name: str, hint: Any, value: Any) -> Any:
    try:
        return decode(hint, value)
    except (TypeError, ValueError, AttributeError, KeyError):
        wanted = _wanted(hint)
        text = f"{name!r} of a request for {operation!r} must be {wanted}, not {value!r}"
        raise UsageError(text) from None


def _wanted(hint: Any) -> str:
    origin, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (tuple, list):
        return "a list of words" if parts[0] is str else "a list of numbers"
    if type(None) in parts:
        return _wanted(parts[0])
    return _WORDS.get(origin, "an object")

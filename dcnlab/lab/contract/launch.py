"""What launches a lab: the request to the process that holds it, and what that reports meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from dcnlab.lab.contract.codec import decode_fields, encode
from dcnlab.lab.contract.values import JsonObject


@dataclass(frozen=True)
class OutsideWanted:
    """What the guard is to open outside the sandbox: connections to ``remote`` controllers (hosts and ports),
    files of ``tls`` by name, and a port for the ``rest`` of applications (0: any)."""

    remote: tuple[tuple[str, int], ...] = ()
    tls: Mapping[str, str] = field(default_factory=dict)
    rest: int | None = None


@dataclass(frozen=True)
class OutsideOpened:
    """What the guard has opened, as numbers of inherited descriptors."""

    remote: int | None = None
    tls: Mapping[str, int] = field(default_factory=dict)
    rest: int | None = None


@dataclass(frozen=True)
class LaunchRequest:
    """The one argument of the process that holds a lab.  It passes the request on to the session, with the
    fields from ``errors`` on.

    ``socket`` is the path of the control socket, ``config`` and ``part`` are the JSON of
    :class:`dcnlab.lab.options.config.LabConfig` and :class:`dcnlab.lab.options.local_part.LocalPart`;
    ``remove`` is a file to remove at the end.  The others are descriptors: where it reports (``status``), what
    the command closes when it ends (``lifeline``), the ``key`` of a part, and where a prompt asks for
    ``commands``.
    """

    socket: str
    config: JsonObject
    status: int
    lifeline: int
    prompt: bool = False
    script: str = ""
    outside: OutsideWanted = OutsideWanted()
    remove: str = ""
    part: JsonObject | None = None
    key: int | None = None
    commands: int | None = None
    #: For a prompt, standard error of the command; the session's connection with the guard; the control socket.
    errors: int | None = None
    broker: int = -1
    listener: int = -1
    #: The name of the lab's control groups.
    groups: str = ""
    opened: OutsideOpened = OutsideOpened()

    def text(self) -> str:
        """As an argument of a program."""
        return json.dumps(encode(self))

    @classmethod
    def read(cls, text: str) -> Self:
        """From the argument of a program."""
        return decode_fields(cls, json.loads(text))


@dataclass(frozen=True)
class LaunchReport:
    """What is said of a launch, a JSON object a line: a ``stage`` that begins; at last that the lab is
    ``ready``, with the ``seconds`` of each stage, or an ``error`` with its exit ``code``.  The request may have
    been ``refused``, or the lab's name ``taken``.  ``aacm`` is how servers have configured themselves."""

    stage: str = ""
    ready: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    aacm: JsonObject | None = None
    error: str = ""
    code: int = 1
    refused: bool = False
    taken: bool = False

    def line(self) -> bytes:
        """As a line of text."""
        return json.dumps(encode(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """From a line of text."""
        return decode_fields(cls, json.loads(line))

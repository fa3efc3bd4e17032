"""Machines on which a measurement is made: the programs that run there, and what these need."""

from __future__ import annotations

import contextlib
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from dcnlab.lab import python_process
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments import flow_sockets, mptcp

if TYPE_CHECKING:
    from dcnlab.lab.instruments.side import Side
    from dcnlab.lab.running.lab import RunningLab

#: The programs.
RECEIVER, SENDER = "flow_receiver", "flow_sender"


class Program(ABC):
    """A program with which lines are exchanged."""

    @abstractmethod
    def write(self, line: str) -> None:
        """Give it a line; nothing when it has ended, which shows at the next line."""

    @abstractmethod
    def next(self) -> dict[str, Any]:
        """The next line that it prints, a JSON object; LabError when it has ended."""

    def ask(self, line: str) -> dict[str, Any]:
        """Its answer to a line."""
        self.write(line)
        return self.next()


class Place(ABC):
    """A machine of a lab."""

    #: Seconds by which the machine's monotonic clock is ahead of the one that all times are told in.
    ahead: float = 0.0

    @abstractmethod
    def has(self, server: int) -> bool:
        """Whether the machine runs a server."""

    @abstractmethod
    def ask(self, method: str, **words: Any) -> Any:
        """What a method of the measurement's side there returns; LabError and UsageError as it raises them."""

    @abstractmethod
    def prepared(
        self, transport: str, cc: str, servers: Sequence[int], pair: tuple[int, int]
    ) -> AbstractContextManager[None]:
        """Let servers of the machine use a transport and a congestion control, in a ``with`` block.

        With Multipath TCP each has an additional address for every path between ``pair``.

        UsageError when the kernel cannot do it.
        """

    @abstractmethod
    def program(self, name: str) -> AbstractContextManager[Program]:
        """``flow_receiver`` or ``flow_sender``, in a ``with`` block."""


class LocalProgram(Program):
    """A program on this machine."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def next(self) -> dict[str, Any]:
        return python_process.next_line(self._process, "traffic")


class LocalPlace(Place):
    """This machine; ``on_start`` gets each program's process, ``side`` does what is asked for."""

    def __init__(self, lab: RunningLab, on_start: Callable[[subprocess.Popen[str]], None], side: Side) -> None:
        self._lab, self._on_start, self._side = lab, on_start, side

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._side.close()

    def has(self, server: int) -> bool:
        return self._lab.running.here(server)

    def ask(self, method: str, **words: Any) -> Any:
        found = None if method.startswith("_") else getattr(self._side, method, None)
        if found is None:
            raise UsageError(f"no machine can be asked for {method}")
        return found(**words)

    @contextlib.contextmanager
    def prepared(
        self, transport: str, cc: str, servers: Sequence[int], pair: tuple[int, int]
    ) -> Iterator[None]:
        ends = {server: self._lab.endpoint(server) for server in servers if self.has(server)}
        first = next(iter(ends.values()), None)
        if first is not None and cc:
            netns.inside(first.netns, lambda: flow_sockets.check_congestion_control(cc))
        with contextlib.ExitStack() as stack:
            if first is not None and transport == "mptcp":
                netns.inside(first.netns, mptcp.check)
                paths = mptcp.path_count(self._lab.scheme, *pair, self._lab.link_state.state())
                for server, end in ends.items():
                    stack.enter_context(mptcp.additional_addresses([server], [end], paths))
            yield

    @contextlib.contextmanager
    def program(self, name: str) -> Iterator[Program]:
        if name not in (RECEIVER, SENDER):
            raise UsageError(f"{name} is no program of flows")
        command = python_process.command(f"dcnlab.lab.instruments.{name}")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
        try:
            self._on_start(process)
            yield LocalProgram(process)
        finally:
            process.kill()
            process.communicate()

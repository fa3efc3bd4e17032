"""A lab for Python: start it, use it, end it.

with Lab("bcube:4,1", scheme="brp") as lab:
    lab.ping("h0", "h5")
    lab.fail("h0", "s3")
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from dcnlab.lab import log, python_process, settings
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.contract.lab import Configured, LabInfo
from dcnlab.lab.contract.launch import LaunchReport, LaunchRequest
from dcnlab.lab.control import holders, runtime, stopping
from dcnlab.lab.control.rpc import Connection, Progress
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.methods.capturing import CaptureOperations
from dcnlab.lab.methods.keys import KeyValueClient
from dcnlab.lab.methods.measurements import MeasurementOperations
from dcnlab.lab.methods.network import NetworkOperations
from dcnlab.lab.methods.operations import OperationMethods
from dcnlab.lab.methods.programs import ProgramOperations
from dcnlab.lab.options import images

if TYPE_CHECKING:  # numpy, the topologies and parts of labs are nothing that a client of a running lab needs
    from dcnlab.lab.contract.values import JsonObject
    from dcnlab.lab.events.journal import Record
    from dcnlab.lab.measurement.ping import PingResult
    from dcnlab.lab.methods.arguments import LabArguments
    from dcnlab.lab.options.config import LabConfig
    from dcnlab.lab.options.local_part import LocalPart
    from dcnlab.lab.session.commands import Offered

_STOP_TIMEOUT = 30.0
#: Seconds between two looks at whether a launch is stopped, and bytes of what it says that are read at once.
_LOOK, _CHUNK = 1.0, 1 << 16


class Lab(
    KeyValueClient,
    NetworkOperations,
    OperationMethods,
    ProgramOperations,
    CaptureOperations,
    MeasurementOperations,
):
    """A lab that ends with this process, or after :meth:`attach` one that runs already."""

    #: What :meth:`info` returned to :meth:`attach`.
    _info: LabInfo
    #: What of the network this machine runs; None: all of it.
    _part: LocalPart | None = None
    #: The control socket, which is there once the lab is started.
    _socket: Path

    def __init__(
        self, topology: str | Any, scheme: str = "shortest", name: str = "", **options: Unpack[LabArguments]
    ) -> None:
        """``topology``: a specification, also of a Python file (:mod:`topos.script`), or a networkx graph
        (attributes: :mod:`topos.files.file`).

        ``options`` are those of ``dcnlab up``, with ``_`` for ``-``.
        """
        from dcnlab.lab import graph_file
        from dcnlab.lab.options.config import LabConfig
        from topos.spec import is_script

        #: Removes a graph's file, until the lab's guard does that.
        self._graph_file: weakref.finalize[..., Any] | None = None
        if not isinstance(topology, str) or is_script(topology):
            path = graph_file.write(topology)
            self._graph_file = weakref.finalize(self, path.unlink, missing_ok=True)
            topology = f"file:{path}"
        options.setdefault("offloads", settings.load().offloads)
        self.config = LabConfig.of(topology, scheme, name or runtime.free_name(), **options)
        self.config.check_words()
        self._started = False
        self._socket = runtime.socket_path(self.config.name)
        self._named = bool(name)
        #: Seconds of the launch and of the end; of the launch also by stage.
        self.launch_s: float | None = None
        self.stop_s: float | None = None
        self.stages: dict[str, float] = {}
        #: How the servers have configured themselves at the launch; None without autoconfiguration.
        self.aacm: Configured | None = None
        self._script = ""
        self._guard: subprocess.Popen[bytes] | None = None
        #: The descriptor without which the lab ends, until one of the threads that may end it closes it: closed
        #: twice, its number may be another lab's by then.
        self._lifeline: list[int] = []
        #: Where a prompt asks for commands.
        self._prompt: socket.socket | None = None

    @classmethod
    def attach(cls, name: str) -> Lab:
        """A lab that runs already; LabError when there is none of that name."""
        lab = cls.__new__(cls)
        lab._socket = runtime.socket_path(name)
        lab._guard, lab._lifeline, lab._started = None, [], True
        lab.launch_s = lab.stop_s = lab.aacm = None
        lab._info = lab.info()
        lab.stages = lab._info.launch
        return lab

    @classmethod
    def of_part(
        cls, part: LocalPart, topology: str, scheme: str, name: str, **options: Unpack[LabArguments]
    ) -> Lab:
        """A lab of which this machine runs only a part; its operations serve that."""
        lab = cls(topology, scheme, name, **options)
        lab._part = part
        lab._started = True  # its name and socket are its own: a part that was lost may still have them
        return lab

    @cached_property
    def config(self) -> LabConfig:
        """The topology, the scheme and the options of the lab."""
        from dcnlab.lab.options.config import LabConfig  # a seventh of a second, which few need

        return LabConfig.from_json(self._info.options)

    @property
    def path(self) -> Path:
        """The lab's control socket; UsageError before the lab is started."""
        if not self._started:
            raise UsageError("this lab is not started: call start(), or use it in a `with` block")
        return self._socket

    @property
    def _guard_module(self) -> str:
        """The program that holds the lab: outside the sandbox, or beside the machines that run it."""
        return "dcnlab.lab.machines" if self.config.machines else "dcnlab.lab.emulation.sandbox"

    @property
    def guard_pid(self) -> int:
        """The process below which all processes of a lab are that this one has launched."""
        assert self._guard is not None
        return self._guard.pid

    # --- beginning and end ----------------------------------------------------

    def start(
        self, stage: Progress | None = None, detach: bool = False, prompt: bool = False, script: str = ""
    ) -> Lab:
        """Launch, and return when tables are acknowledged and agents ready.

        ``stage`` hears the name of each stage.  A detached lab outlives this process;
        with ``prompt`` the lab reads this process's terminal, and with ``script`` it runs that Mininet script
        there instead; :meth:`wait` waits for the end of either.
        """
        from dcnlab.lab.emulation import requirements
        from dcnlab.lab.emulation.images import engines

        self._script = script
        if self.config.machines:
            self.config.validate()
        else:
            requirements.check(self.config, self._part)
            layouts = engines.of_option(self.config.image, images.parse(self.config.image))
            self.config = replace(self.config, image=layouts)
        while runtime.in_use(self._socket) or not self._launch(stage, detach, prompt):
            if self._named:
                raise UsageError(
                    f"a lab named {self.config.name} runs already: choose another --name, or end it"
                )
            self._rename(runtime.free_name())
        return self

    def _launch(self, stage: Progress | None, detach: bool, prompt: bool) -> bool:
        """Start the guard and follow the launch; False when somebody was quicker to take its name."""
        begun = time.perf_counter()
        status = self._spawn(prompt)
        self._started = True
        with contextlib.ExitStack() as failed, os.fdopen(status, "rb", buffering=0):
            failed.callback(self._reap)
            try:
                message = self._ready(self._lines(status), stage)
            except LabError as error:
                raise self._launch_error(error) from None
            if message.taken:
                return False
            failed.pop_all()
        if self._graph_file:
            self._graph_file.detach()
        if detach:
            with contextlib.suppress(BrokenPipeError):  # it has ended; the next request reports that
                os.write(self._lifeline[0], b".")
        self.launch_s = round(time.perf_counter() - begun, 3)
        self.stages = dict(message.seconds)
        self.aacm = Configured.from_json(message.aacm) if message.aacm else None
        return True

    def _lines(self, status: int) -> Iterator[bytes]:
        """What the launch says, line by line; LabError when a process that it needs is stopped."""
        assert self._guard is not None
        watched, rest, before = select.poll(), b"", False
        watched.register(status, select.POLLIN)
        while True:
            while not watched.poll(1000 * _LOOK):
                stopped = holders.stopped(self._guard.pid, "guard", "init", "session")
                if stopped is not None and before:  # not only until all of a job continue
                    raise LabError(stopped.said(self.config.name))
                before = stopped is not None
            if not (data := os.read(status, _CHUNK)):
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    @staticmethod
    def _ready(lines: Iterable[bytes], stage: Progress | None) -> LaunchReport:
        """What the lab says when it is ready, or when its name is taken; LabError when it fails."""
        for line in lines:
            message = LaunchReport.read(line)
            if message.stage and stage is not None:
                stage(message.stage)
            elif message.taken or message.ready:
                return message
            elif message.error:
                usage = message.code == UsageError.exit_code or message.refused
                raise (UsageError if usage else LabError)(message.error)
        raise LabError("the lab ended while it was launched")

    def _launch_error(self, error: LabError) -> LabError:
        """The error of a launch that failed, which names the log that the lab left."""
        assert self._guard is not None
        holders.release(self._guard.pid)  # if it is stopped
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(_STOP_TIMEOUT)
        file = log.path(self._socket)
        named = file.exists() and not isinstance(error, UsageError)
        return LabError(f"{error} (log: {file})") if named else error

    def _rename(self, name: str) -> None:
        self.config = replace(self.config, name=name)
        self._socket = runtime.socket_path(name)

    def _spawn(self, prompt: bool) -> int:
        """Start the guard; the read end of the status pipe."""
        status_read, status_write = os.pipe()
        lifeline_read, lifeline_write = os.pipe()
        self._lifeline = [lifeline_write]
        remove = self.config.topology.removeprefix("file:") if self._graph_file else ""
        with self._described_part() as (part, key), self._asking(prompt) as commands:
            request = LaunchRequest(
                str(self._socket), self.config.to_json(), status_write, lifeline_read, prompt, self._script,
                self.config.outside(), remove, part, key, commands,
            )  # fmt: skip
            self._guard = self._start_guard(request)
        os.close(status_write)
        os.close(lifeline_read)
        return status_read

    @contextlib.contextmanager
    def _described_part(self) -> Iterator[tuple[JsonObject | None, int | None]]:
        """Yield what the guard must know of the part that this machine runs, and a descriptor of its key.

        The key is not passed as an argument: others can read arguments of processes."""
        if self._part is None:
            yield None, None
            return
        from hostagent.linux.secret import readable_once

        with readable_once(bytes.fromhex(self._part.key)) as key:
            yield encode(replace(self._part, key="")), key.fileno()

    @contextlib.contextmanager
    def _asking(self, prompt: bool) -> Iterator[int | None]:
        """The descriptor by which a prompt asks this process for commands."""
        if not prompt:
            yield None
            return
        self._prompt, asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with asking:
            yield asking.fileno()

    def _start_guard(self, request: LaunchRequest) -> subprocess.Popen[bytes]:
        """Start the process that holds the lab; it inherits the descriptors of the request."""
        terminal = None if request.prompt else subprocess.DEVNULL
        inherited = (request.status, request.lifeline, request.key, request.commands)
        return subprocess.Popen(
            python_process.command(self._guard_module, request.text()),
            stdin=terminal,
            stdout=terminal,
            env=python_process.environment(),
            pass_fds=[descriptor for descriptor in inherited if descriptor is not None],
            start_new_session=not request.prompt,
        )

    def stop(self) -> None:
        """End the lab and wait until nothing of it is left; no error when it has ended already."""
        begun = time.perf_counter()
        if self._guard is None:
            stopping.end(self._socket)
        else:
            try:
                if self._guard.poll() is None:
                    stopping.request(self._socket)
            finally:
                self._reap()
        self.stop_s = round(time.perf_counter() - begun, 3)

    def wait(self, offered: Offered | None = None) -> int:
        """Wait until a lab with a prompt ends; its exit code.  Meanwhile Ctrl-C goes to the prompt, or to the
        command that this process runs for it."""
        assert self._guard is not None
        if offered is not None and self._prompt is not None:
            from dcnlab.lab.session import commands  # few labs have a prompt

            commands.offer(self._prompt, offered)
        before = signal.signal(signal.SIGINT, lambda *_: None)  # which children do not inherit
        try:
            return self._guard.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def _reap(self) -> None:
        assert self._guard is not None
        with contextlib.suppress(IndexError):
            os.close(self._lifeline.pop())
        pid = self._guard.pid
        if not stopping.await_end(pid, holders.namespace(pid), self._guard_ended):
            self._guard.kill()
            self._guard.wait()

    def _guard_ended(self, timeout: float) -> bool:
        assert self._guard is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout)
        return self._guard.returncode is not None

    def __enter__(self) -> Lab:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --- operations -----------------------------------------------------------

    def _repr_html_(self) -> str | None:
        """The lab for notebooks: its network, with the links that are down; None while it does not run."""
        from dcnlab.lab.drawing.notebook import lab_html

        try:
            return lab_html(self.info())
        except LabError:
            return None

    def pingall(
        self,
        progress: Progress | None = None,
        *,
        pairs: str | tuple[tuple[str, str], ...] = "all",
        size: int = 56,
        timeout: float = 5.0,
        ipv4: bool = False,
        ipv6: bool = False,
    ) -> PingResult:
        """Ping between all pairs of servers, or those given as ``pairs``.

        Requests count as lost after ``timeout`` seconds without any answer."""
        from dcnlab.lab.measurement.ping import Ping

        wanted = Ping(pairs=pairs, size=size, timeout=timeout, ipv4=ipv4, ipv6=ipv6)
        return self.measure(wanted, progress)

    # --- events ---------------------------------------------------------------

    def events(self, follow: bool = False, after: int = 0, kinds: Collection[str] = ()) -> Iterator[Record]:
        """What has happened in the lab after event number ``after``, oldest first; with ``follow`` also what
        happens, until the lab ends.

        ``kinds``: only events of these (:mod:`dcnlab.lab.events.kinds`).  A record has ``number``, ``at``
        (seconds since 1970), ``clock`` (the machine's monotonic clock), ``kind`` and ``event``."""
        from dcnlab.lab.events.journal import Record
        from dcnlab.lab.operations.events import Events

        with contextlib.closing(Connection(self.path)) as connection:
            wanted = Events(follow, after, tuple(kinds))
            for batch in connection.stream(**wanted.request()):
                yield from map(Record.from_json, batch)

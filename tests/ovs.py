"""A private Open vSwitch for tests: dummy datapath, own directory, no privileges, ended by pid."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from topos.fabric import Fabric

_HELLO, _ERROR, _BARRIER_REQUEST, _BARRIER_REPLY = 0, 1, 20, 21
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")


class PrivateOvs:
    """One ovsdb-server and one ovs-vswitchd in a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._control: socket.socket | None = None
        self._requests = itertools.count()
        self.environment = os.environ | dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(directory))

    def start(self) -> None:
        """Start both daemons; they answer when this returns."""
        daemon = ("--detach", "--no-chdir", "--pidfile", "-vconsole:off", "-vsyslog:off")
        self.run("ovsdb-tool", "create", "conf.db", str(_SCHEMA))
        self.run("ovsdb-server", "conf.db", "--remote=punix:db.sock", *daemon)
        self.run("ovs-vsctl", "--db=unix:db.sock", "--no-wait", "init")
        self.run("ovs-vswitchd", "unix:db.sock", "--enable-dummy=override", "--disable-system", *daemon)

    def stop(self) -> None:
        """End both daemons, by their process numbers."""
        if self._control is not None:
            self._control.close()
        for program in ("ovs-vswitchd", "ovsdb-server"):
            pidfile = self.directory / f"{program}.pid"
            if pidfile.exists():
                pid = int(pidfile.read_text())
                os.kill(pid, signal.SIGTERM)
                poll(lambda pid=pid: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), 10)

    def run(self, *command: str, stdin: str | None = None) -> str:
        """Run one of Open vSwitch's programs in the private directory; its standard output."""
        done = subprocess.run(
            command, cwd=self.directory, env=self.environment, input=stdin, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)[:200]}: {done.stderr.strip()}")
        return done.stdout

    def vsctl(self, *arguments: str) -> str:
        """``ovs-vsctl`` on the private database."""
        return self.run("ovs-vsctl", "--db=unix:db.sock", *arguments)

    def ofctl(self, *arguments: str, stdin: str | None = None) -> str:
        """``ovs-ofctl`` for OpenFlow 1.3."""
        return self.run("ovs-ofctl", "-O", "OpenFlow13", *arguments, stdin=stdin)

    def appctl(self, method: str, *arguments: str) -> str:
        """What ``ovs-appctl`` would print: its JSON-RPC, without a process for each question."""
        return self.appctls(method, [arguments])[0]

    def appctls(self, method: str, questions: Sequence[tuple[str, ...]]) -> list[str]:
        """What ``ovs-appctl`` would print for each of some arguments.  Ten are sent at a time: as many the
        daemon answers before it looks after all its bridges again."""
        if self._control is None:
            (path,) = self.directory.glob("ovs-vswitchd.*.ctl")
            self._control = socket.socket(socket.AF_UNIX)
            self._control.connect(str(path))
        replies: list[str] = []
        for first in range(0, len(questions), 10):
            some = questions[first : first + 10]
            requests = [{"method": method, "params": words, "id": next(self._requests)} for words in some]
            self._control.sendall("".join(map(json.dumps, requests)).encode())
            for words, reply in zip(some, _read_json(self._control, len(some)), strict=True):
                if reply["error"]:
                    raise RuntimeError(f"{method} {' '.join(words)}: {reply['error']}")
                replies.append(str(reply["result"]))
        return replies

    def send(self, bridge: str, messages: bytes) -> None:
        """Give OpenFlow 1.3 messages to a bridge and wait until it has carried them out;
        RuntimeError with the type and code of the first one that it refuses."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.directory / f"{bridge}.mgmt"))
            connection.sendall(_message(_HELLO) + messages + _message(_BARRIER_REQUEST))
            stream = connection.makefile("rb")
            while True:
                _, kind, length, _ = struct.unpack("!BBHI", stream.read(8))
                body = stream.read(length - 8)
                if kind == _ERROR:
                    raise RuntimeError("{} refused a message: type {}, code {}".format(bridge, *body[1:4:2]))
                if kind == _BARRIER_REPLY:
                    return

    # --- whole fabrics --------------------------------------------------------

    def add_fabric(self, fabric: Fabric, controller: str | None = None) -> None:
        """A bridge per switch with all its ports, in one transaction; a ``controller`` such as
        ``tcp:127.0.0.1:6653``."""
        commands: list[str] = []
        for switch in range(fabric.servers, fabric.size):
            commands += _bridge(fabric, switch, controller)
        self.vsctl(*commands)

    def remove_fabric(self, fabric: Fabric) -> None:
        """All its bridges, in one transaction."""
        switches = range(fabric.servers, fabric.size)
        self.vsctl(*(word for switch in switches for word in ("--", "del-br", fabric.name(switch))))

    def datapath_ports(self) -> dict[str, int]:
        """The datapath's number of every port, by interface name."""
        lines = self.appctl("dpif/show").splitlines()
        matches = (re.match(r"\s+(\S+) \S+/(\d+):", line) for line in lines)
        return {match.group(1): int(match.group(2)) for match in matches if match}

    def set_port(self, port: str, up: bool) -> None:
        """Bring a dummy port such as ``s3-eth2`` up or down."""
        self.appctl("netdev-dummy/set-admin-state", port, "up" if up else "down")

    def dumps(self, bridge: str) -> tuple[str, str]:
        """What a bridge holds: ``dump-flows`` and ``dump-groups``."""
        return self.ofctl("dump-flows", bridge), self.ofctl("dump-groups", bridge)


def _message(kind: int) -> bytes:
    return struct.pack("!BBHI", 4, kind, 8, 0)


def _read_json(connection: socket.socket, count: int) -> list[dict[str, Any]]:
    """So many JSON objects; nothing in the protocol says where one ends but itself."""
    text, replies, decoder = b"", [], json.JSONDecoder()
    while len(replies) < count:
        text += connection.recv(1 << 16)
        with suppress(ValueError):  # the next one is not whole yet
            while len(replies) < count:
                reply, end = decoder.raw_decode(text.decode())
                replies.append(dict(reply))
                text = text.decode()[end:].lstrip().encode()
    return replies


def _bridge(fabric: Fabric, switch: int, controller: str | None) -> Iterator[str]:
    name, dpid = fabric.name(switch), switch - fabric.servers + 1
    yield from ("--", "add-br", name, "--", "set", "bridge", name, "datapath_type=dummy", "fail_mode=secure")
    yield from ("protocols=OpenFlow13,OpenFlow15", f"other-config:datapath-id={dpid:016x}")
    for port, _ in fabric.ports(switch):
        interface = f"{name}-eth{port}"
        yield from ("--", "add-port", name, interface, "--", "set", "interface", interface, "type=dummy")
        yield f"ofport_request={port}"
    if controller is not None:
        yield from ("--", "set-controller", name, controller)
        yield from ("--", "set", "controller", name, "connection_mode=out-of-band", "max_backoff=1000")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def poll(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until ``condition`` holds; AssertionError after ``seconds``, or two minutes if that is longer.

    A busy machine may take long; only a test that fails waits that long.
    """
    seconds = max(seconds, 120.0)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.01)


def missing_programs() -> tuple[str, ...]:
    """Which of Open vSwitch's programs this machine lacks."""
    return tuple(program for program in _PROGRAMS if shutil.which(program) is None)


@contextmanager
def private_ovs() -> Iterator[PrivateOvs]:
    """A private Open vSwitch that ends with the block."""
    directory = Path(tempfile.mkdtemp(prefix="dcnlab-ovs-"))
    ovs = PrivateOvs(directory)
    try:
        ovs.start()
        yield ovs
    finally:
        ovs.stop()
        shutil.rmtree(directory)

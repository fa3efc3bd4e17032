"""A private Open vSwitch for tests: dummy datapath, own directory, no privileges, ended by pid."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from topos.graph import Fabric

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")


class PrivateOvs:
    """One ovsdb-server and one ovs-vswitchd in a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
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

    def appctl(self, *arguments: str) -> str:
        """``ovs-appctl`` to the private ovs-vswitchd."""
        return self.run("ovs-appctl", *arguments)

    # --- whole fabrics --------------------------------------------------------

    def add_fabric(self, fabric: Fabric, controller: str | None = None) -> None:
        """A bridge per switch with all its ports, in one transaction; a ``controller`` such as
        ``tcp:127.0.0.1:6653``."""
        commands: list[str] = []
        for switch in range(fabric.servers, fabric.size):
            commands += _bridge(fabric, switch, controller)
        self.vsctl(*commands)

    def set_port(self, port: str, up: bool) -> None:
        """Bring a dummy port such as ``s3-eth2`` up or down."""
        self.appctl("netdev-dummy/set-admin-state", port, "up" if up else "down")

    def dumps(self, bridge: str) -> tuple[str, str]:
        """What a bridge holds: ``dump-flows`` and ``dump-groups``."""
        return self.ofctl("dump-flows", bridge), self.ofctl("dump-groups", bridge)


def _bridge(fabric: Fabric, switch: int, controller: str | None) -> Iterator[str]:
    name, dpid = fabric.name(switch), switch - fabric.servers + 1
    yield from ("--", "add-br", name, "--", "set", "bridge", name, "datapath_type=dummy", "fail_mode=secure")
    yield from ("protocols=OpenFlow13", f"other-config:datapath-id={dpid:016x}")
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
    """Wait until ``condition`` holds; AssertionError after ``seconds``."""
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

"""The shards of a lab's switches: bridges that share an ovsdb-server and an ovs-vswitchd."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.emulation import waiting
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.errors import LabError

PORTS_PER_SHARD = 64
MAX_SHARDS = 63  # each has a /30 of a /24 for its collectors, and a tunnel has one
#: Seconds for a database to come back, and to do what it is asked for.
_PATIENCE = 30
#: The folder with a folder for each shard.
ROOT = Path("/run/openvswitch")


@dataclass(frozen=True)
class Shard:
    """One pair of daemons and its bridges."""

    index: int
    bridges: tuple[Bridge, ...]

    @property
    def extent(self) -> str:
        """Its first and last bridge, in words."""
        return f"{self.bridges[0].name} to {self.bridges[-1].name}" if self.bridges else "no bridge"

    @property
    def netns(self) -> str:
        """The namespace of its daemons and ports."""
        return f"ovs{self.index}"

    @property
    def rundir(self) -> Path:
        """The folder of its sockets, database and logs."""
        return ROOT / str(self.index)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which the ovs-* programs use this shard."""
        folder = str(self.rundir)
        return {**os.environ, "OVS_RUNDIR": folder, "OVS_DBDIR": folder, "OVS_LOGDIR": folder}

    @property
    def daemon(self) -> int:
        """The process that switches; OSError before it has started."""
        text = (self.rundir / "ovs-vswitchd.pid").read_text()
        if not text.strip():
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        return int(text)

    @property
    def database(self) -> Path:
        """The socket of its database."""
        return self.rundir / "db.sock"

    def command(self, program: str, *arguments: str) -> list[str]:
        """A command line that runs in this shard's namespace."""
        return ["nsenter", f"--net={netns.path(self.netns)}", program, *arguments]

    def run(self, program: str, *arguments: str) -> str:
        """Run one of the ovs-* programs for this shard; LabError with its message if it fails."""
        done = subprocess.run(
            self.command(program, *arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LabError(waiting.failure(program, done.returncode, done.stderr or done.stdout))
        return done.stdout

    def ports(self, bridge: str) -> dict[str, int]:
        """The OpenFlow numbers that ports of a bridge were given, by interface."""
        if not (names := self._configure("list-ports", bridge).split()):
            return {}
        columns = ["--format=csv", "--no-headings", "--columns=name,ofport_request"]
        rows = self._configure(*columns, "list", "Interface", *names).split()
        return {name: int(number) for name, number in (row.split(",") for row in rows) if number.isdecimal()}

    def add_port(self, bridge: str, interface: str, number: int) -> None:
        """Give a bridge a port with an OpenFlow number; returns when it has it."""
        request = ["set", "Interface", interface, f"ofport_request={number}"]
        self._configure("add-port", bridge, interface, "--", *request)

    def remove_port(self, bridge: str, interface: str) -> None:
        """Take a port from a bridge, if it has it."""
        self._configure("--if-exists", "del-port", bridge, interface)

    def _configure(self, *arguments: str) -> str:
        """Run ovs-vsctl; waits for a database that is being started again."""
        return self.run("ovs-vsctl", "--retry", f"--timeout={_PATIENCE}", *arguments)


def split(bridges: Sequence[Bridge]) -> tuple[Shard, ...]:
    """Distribute bridges over shards of about PORTS_PER_SHARD ports each."""
    if not bridges:
        return ()
    count = shard_count(len(bridges), sum(len(bridge.ports) for bridge in bridges))
    size = -(-len(bridges) // count)
    groups = [tuple(bridges[start : start + size]) for start in range(0, len(bridges), size)]
    return tuple(Shard(index, group) for index, group in enumerate(groups))


def shard_count(switches: int, ports: int) -> int:
    """The number of shards for so many switches, which have so many ports together."""
    return max(1, min(MAX_SHARDS, switches, round(ports / PORTS_PER_SHARD))) if switches else 0

"""Private Open vSwitch: daemons of the lab's own, several of them where there are many ports.

One vswitchd polls all of its ports in one thread, so ports are spread over *shards*:
an ovsdb-server and an ovs-vswitchd with a run directory of their own, in a network
namespace of their own (two in one namespace would collide on the tap ``ovs-netdev``).
The controller listens in each of those namespaces, on its loopback address only.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import LabError

PORTS_PER_SHARD = 64
MAX_SHARDS = 32
CONTROLLER = ("127.0.0.1", 6653)
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
#: Seconds after boot from which on kernel datapaths work.
_SETTLED_UPTIME = 15.0
_ROOT = Path("/run/openvswitch")
_COMPLAINT = re.compile(r"\|(?:WARN|ERR|EMER)\|")


@dataclass(frozen=True)
class Bridge:
    """A switch to make: its name, its datapath id and (interface, OpenFlow port) pairs."""

    name: str
    dpid: int
    ports: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Shard:
    """One pair of daemons and the bridges that they carry."""

    index: int
    bridges: tuple[Bridge, ...]

    @property
    def netns(self) -> str:
        """The namespace in which its daemons and ports live."""
        return f"ovs{self.index}"

    @property
    def rundir(self) -> Path:
        """Sockets, database, logs."""
        return _ROOT / str(self.index)

    @property
    def environment(self) -> dict[str, str]:
        """What makes the ovs-* programs talk to this shard."""
        folder = str(self.rundir)
        return {**os.environ, "OVS_RUNDIR": folder, "OVS_DBDIR": folder, "OVS_LOGDIR": folder}

    def command(self, program: str, *arguments: str) -> list[str]:
        """A command line that runs in this shard's namespace."""
        return ["nsenter", f"--net={netns.path(self.netns)}", program, *arguments]

    def run(self, program: str, *arguments: str) -> str:
        """Run one of the ovs-* programs for this shard; LabError with its message when it fails."""
        done = subprocess.run(
            self.command(program, *arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LabError(f"{program}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
        return done.stdout


#: What runs in every shard, each with a pid file of its name in ``rundir``.
DAEMONS = ("ovsdb-server", "ovs-vswitchd")

#: A command line, and the shard whose programs it is for.
Command = tuple[Shard, list[str]]
Process = subprocess.Popen[str]


def split(bridges: Sequence[Bridge]) -> tuple[Shard, ...]:
    """Spread bridges over shards so that each carries about PORTS_PER_SHARD ports."""
    if not bridges:
        return ()
    ports = sum(len(bridge.ports) for bridge in bridges)
    count = max(1, min(MAX_SHARDS, len(bridges), round(ports / PORTS_PER_SHARD)))
    size = -(-len(bridges) // count)
    groups = [tuple(bridges[start : start + size]) for start in range(0, len(bridges), size)]
    return tuple(Shard(index, group) for index, group in enumerate(groups))


def kernel_datapath() -> bool:
    """Whether this kernel has the openvswitch datapath loaded."""
    return Path("/sys/module/openvswitch").exists()


def listeners(shards: Sequence[Shard]) -> list[socket.socket]:
    """A listening socket for the controller in each shard's namespace."""
    return [
        netns.inside(shard.netns, lambda: socket.create_server(CONTROLLER, backlog=4096)) for shard in shards
    ]


def wait_for_boot() -> None:
    """Let a machine that has just booted come to itself.

    Open vSwitch 3.1 starts without handler threads, and so drops everything that its kernel
    datapath asks about, when it makes one within about ten seconds of boot.
    """
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    time.sleep(max(0.0, _SETTLED_UPTIME - uptime))


def prepare(shards: Sequence[Shard], datapath: str, offloads: bool = True) -> list[Process]:
    """Start all ovsdb-servers, each with a database that describes its shard's bridges, for
    :func:`start_switches`, which takes what is returned.

    With ``offloads`` the userspace datapath passes super-packets and checksums yet to be computed
    on; without, senders must compute them, or TCP does not get through.

    Where a processor is to be had for each, the ovs-vswitchds start as well: a tenth of a second,
    for which each looks at its clock before its first bridge, passes while cables are made.
    Where there are more of them they would make cables slower by looking at each that comes.
    """
    if not shards:
        return []
    _start_databases(shards)
    words = ["--no-wait", "init", "--", "set", "Open_vSwitch", "."]
    words += [f"other_config:userspace-tso-enable={str(offloads).lower()}"]
    early = _fits_cores(shards)
    starting = _begin(_daemons(shards)) if early else []
    _run(
        (
            shard,
            shard.command(
                "ovs-vsctl", *words, *_bridges(shard, datapath), *([] if early else _port_commands(shard))
            ),
        )
        for shard in shards
    )
    return starting


def start_switches(shards: Sequence[Shard], starting: Sequence[Process]) -> None:
    """Give all bridges their ports, whose interfaces exist; they forward when this returns."""
    if _fits_cores(shards):
        wired = [(shard, shard.command("ovs-vsctl", "init", *_port_commands(shard))) for shard in shards]
        _finish([*starting, *_begin(wired)])
    else:
        _run(_daemons(shards))


def _fits_cores(shards: Sequence[Shard]) -> bool:
    return len(shards) <= len(os.sched_getaffinity(0))


def _start_databases(shards: Sequence[Shard]) -> None:
    template = _ROOT / "empty.db"
    _ROOT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ovsdb-tool", "create", str(template), _SCHEMA], check=True, capture_output=True)
    for shard in shards:
        shard.rundir.mkdir()
        shutil.copy(template, shard.rundir / "conf.db")
    _run(
        (
            shard,
            shard.command(
                "ovsdb-server", str(shard.rundir / "conf.db"), f"--remote=punix:{shard.rundir}/db.sock",
                "--detach", "--no-chdir", f"--pidfile={shard.rundir}/ovsdb-server.pid",
                f"--log-file={shard.rundir}/ovsdb-server.log", "-vconsole:off",
            ),
        )
        for shard in shards
    )  # fmt: skip


def _daemons(shards: Sequence[Shard]) -> list[Command]:
    """What starts all ovs-vswitchds."""
    if shards and kernel_datapath():
        wait_for_boot()
    return [
        (
            shard,
            shard.command(
                "ovs-vswitchd", f"unix:{shard.rundir}/db.sock", "--detach", "--no-chdir",
                f"--pidfile={shard.rundir}/ovs-vswitchd.pid", f"--log-file={shard.rundir}/ovs-vswitchd.log",
                "-vconsole:off", *([] if kernel_datapath() else ["--disable-system"]),
            ),
        )
        for shard in shards
    ]  # fmt: skip


def complaints(most: int = 20) -> Iterator[tuple[Path, str]]:
    """The last warnings and errors in the logs of Open vSwitch's programs, file by file."""
    for file in sorted(_ROOT.glob("*/*.log")):
        lines = [line for line in file.read_text(errors="replace").splitlines() if _COMPLAINT.search(line)]
        if lines:
            yield file, "\n".join(lines[-most:])


def purge_datapath_caches(shards: Sequence[Shard]) -> None:
    """Make forwarding follow the tables: Open vSwitch acknowledges a change of them some milliseconds
    before its cached decisions are looked through, so these are dropped."""
    _run((shard, shard.command("ovs-appctl", "revalidator/purge")) for shard in shards)


def _bridges(shard: Shard, datapath: str) -> list[str]:
    """What describes a shard's bridges, in ovs-vsctl's words."""
    words: list[str] = []
    for bridge in shard.bridges:
        words += ["--", "add-br", bridge.name]
        words += ["--", "set", "Bridge", bridge.name, f"datapath_type={datapath}", "fail_mode=secure"]
        words += ["protocols=OpenFlow13", f"other-config:datapath-id={bridge.dpid:016x}"]
        words += ["other-config:disable-in-band=true", "mcast_snooping_enable=false"]
    return words


def _port_commands(shard: Shard) -> list[str]:
    """What gives those bridges their controller and their ports."""
    target = "tcp:{}:{}".format(*CONTROLLER)
    words: list[str] = []
    for bridge in shard.bridges:
        words += ["--", "set-controller", bridge.name, target]
        words += ["--", "set", "Controller", bridge.name, "connection_mode=out-of-band"]
        words += ["inactivity_probe=0", "max_backoff=1000"]
        for interface, number in bridge.ports:
            words += ["--", "add-port", bridge.name, interface]
            words += ["--", "set", "Interface", interface, f"ofport_request={number}"]
    return words


def _run(commands: Iterable[Command]) -> None:
    """Run one command per shard, all at once; LabError with the first message."""
    _finish(_begin(commands))


def _begin(commands: Iterable[Command]) -> list[Process]:
    return [
        subprocess.Popen(
            words, env=shard.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for shard, words in commands
    ]


def _finish(running: Iterable[Process]) -> None:
    for process in running:
        text = process.communicate()[1]
        if process.returncode:
            lines = [line for line in text.strip().splitlines() if line]
            program = process.args[2] if isinstance(process.args, list) else str(process.args)
            raise LabError(f"{program}: {lines[-1] if lines else 'failed without a message'}")

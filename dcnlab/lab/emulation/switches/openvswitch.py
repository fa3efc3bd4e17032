"""The private Open vSwitches of a lab, several where there are many ports.

An ovs-vswitchd polls all its ports in one thread.  So ports are distributed over *shards*: an
ovsdb-server and an ovs-vswitchd with their own run directory, in their own network namespace (two in one
namespace would collide on the tap interface ``ovs-netdev``).  The controller listens in each of these
namespaces, on the loopback address only.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dcnlab.lab.emulation import waiting
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches import allocator, appctl, notifications, ovsdb, rows
from dcnlab.lab.emulation.switches.ovsdb import Operation
from dcnlab.lab.emulation.switches.shards import ROOT, Shard
from dcnlab.lab.errors import LabError
from dcnlab.lab.options.controller_choice import ControllerChoice

CONTROLLER = ("127.0.0.1", 6653)
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
#: Seconds after boot until kernel datapaths work.
_SETTLED_UPTIME = 15.0
#: How often the counters of all ports are written to the database, where nobody reads them: once a day; and
#: with several controllers, whose roles are written then, too.
_STATISTICS_MS, _ROLES_MS = 24 * 3600 * 1000, 5000
#: Milliseconds between looks at cached flows, Open vSwitch's and the most: each wakes a loop over all ports.
#: Up to so many ports in a lab Open vSwitch's own are kept.
_REVALIDATION_MS, _SLOWEST_REVALIDATION_MS, _FEW_PORTS = 500, 2000, 2048
#: The numbers of configurations: with all ports, and when the controller is connected.
_WIRED, _CONNECTED = 1, 2
#: The columns of the database's SSL table, by the names of the files of TLS.
_TLS_COLUMNS = {"key": "private_key", "cert": "certificate", "ca": "ca_cert"}
_COMPLAINT = re.compile(r"\|(?:WARN|ERR|EMER)\|")


#: The daemons of a shard; each has a pid file with its name in ``rundir``.
DAEMONS = ("ovsdb-server", "ovs-vswitchd")

#: A command line and its shard.
Command = tuple[Shard, list[str]]


def kernel_datapath() -> bool:
    """Whether this kernel has the openvswitch datapath loaded."""
    return Path("/sys/module/openvswitch").exists()


def choose_datapath(wanted: str) -> str:
    """``kernel`` if the kernel has the datapath and the option allows it, else ``userspace``."""
    available = kernel_datapath()
    if wanted == "kernel" and not available:
        raise LabError(
            "this kernel has no openvswitch datapath: load it (modprobe openvswitch) or use --datapath auto"
        )
    return "kernel" if available and wanted in ("auto", "kernel") else "userspace"


def listeners(shards: Sequence[Shard], number: int = 0) -> list[socket.socket]:
    """A listening socket for the ``number``-th controller in each shard's namespace."""
    address = CONTROLLER[0], CONTROLLER[1] + number
    return [netns.inside(shard.netns, lambda: socket.create_server(address, backlog=4096)) for shard in shards]


def wait_for_boot() -> None:
    """Wait if the machine has just booted.

    A kernel datapath that Open vSwitch 3.1 creates within about ten seconds of boot gets no handler
    threads, and drops every packet that needs one.
    """
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    time.sleep(max(0.0, _SETTLED_UPTIME - uptime))


def targets(choice: ControllerChoice) -> tuple[str, ...]:
    """Where the switches look for their controllers, in Open vSwitch's form."""
    if choice.kind == "none":
        return ()
    (host, port), protocol = CONTROLLER, "ssl" if choice.tls else "tcp"
    return tuple(f"{protocol}:{host}:{port + number}" for number in range(len(choice.remotes) or 1))


def prepare(
    shards: Sequence[Shard],
    datapath: str,
    offloads: bool = True,
    versions: Sequence[str] = ("OpenFlow13",),
    controllers: Sequence[str] = (),
    tls: Mapping[str, bytes] | None = None,
    learning: bool = False,
) -> list[waiting.Process]:
    """Start all ovsdb-servers, each with a database of its shard's bridges.  The result is for
    :func:`start_switches`.

    With ``offloads`` the userspace datapath passes on super-packets and partial checksums; without,
    senders must compute checksums, or TCP does not work.  The switches speak
    ``versions`` of OpenFlow; ``controllers`` are their targets, with the contents of the ``key``, ``cert``
    and ``ca`` files in ``tls`` if they begin with ssl.  With ``learning`` they learn addresses while nobody
    controls them.

    If there is a core for each, the ovs-vswitchds start here too: the tenth of a second that each takes
    before its first bridge overlaps with the creation of links.  More of them would slow that down,
    because each inspects every new interface.
    """
    if not shards:
        return []
    _start_databases(shards)
    settings = {
        "userspace-tso-enable": str(offloads).lower(),
        "max-revalidator": str(revalidation(shards)),
        "stats-update-interval": str(_ROLES_MS if len(controllers) > 1 else _STATISTICS_MS),
    }
    files = _tls(tls or {})
    starting = _begin(_daemons(shards)) if starts_early(shards) else []
    _transact(
        shards,
        lambda shard: [rows.create(shard.bridges, datapath, versions, settings, files, learning)],
        DAEMONS[:1],
    )
    return starting


def revalidation(shards: Sequence[Shard]) -> int:
    """Milliseconds between two looks at cached flows: in proportion to the ports of the lab, within bounds."""
    ports = sum(len(bridge.ports) for shard in shards for bridge in shard.bridges)
    return min(max(_REVALIDATION_MS, _REVALIDATION_MS * ports // _FEW_PORTS), _SLOWEST_REVALIDATION_MS)


def _tls(files: Mapping[str, bytes]) -> dict[str, str]:
    """The files of TLS, which are copied into the lab's own /run, by the columns of the database."""
    copied = {}
    for name, column in _TLS_COLUMNS.items() if files else ():
        path = ROOT / f"controller-{name}.pem"
        path.touch(mode=0o600)
        path.write_bytes(files[name])
        copied[column] = str(path)
    return copied


def start_switches(
    shards: Sequence[Shard], starting: Sequence[waiting.Process], controllers: Sequence[str] = ()
) -> None:
    """Add the ports of all bridges, whose interfaces exist; the bridges forward when this returns."""
    if not starts_early(shards):
        starting = _begin(_daemons(shards))
    waiting.finish(starting, _watched(shards, DAEMONS[:1]))
    notifications.of_own_namespace(shards)
    _transact(
        shards,
        lambda shard: [
            [*rows.wire(shard.bridges, controllers), rows.number(_WIRED)],
            [rows.applied(_WIRED)],
        ],
        DAEMONS,
    )


def end_probes(shards: Sequence[Shard]) -> None:
    """Have bridges that are connected with their controllers stop probing them.

    Open vSwitch takes the interval of probes over to a connection only when it is configured again after it has
    connected; until then every switch sends an echo request every five seconds, and wakes everybody.
    """
    _transact(shards, lambda _: [[rows.number(_CONNECTED)]], DAEMONS)


def starts_early(shards: Sequence[Shard]) -> bool:
    """Whether there is a core for each ovs-vswitchd, so that :func:`prepare` starts them."""
    return len(shards) <= len(os.sched_getaffinity(0))


def _start_databases(shards: Sequence[Shard]) -> None:
    template = ROOT / "empty.db"
    ROOT.mkdir(parents=True, exist_ok=True)
    create = ["ovsdb-tool", "create", str(template), _SCHEMA]
    if not template.exists():  # a switch that is added comes after others
        done = subprocess.run(create, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(waiting.failure("ovsdb-tool", done.returncode, done.stderr))
    for shard in shards:
        shard.rundir.mkdir()
        shutil.copy(template, shard.rundir / "conf.db")
    _run(_daemon(shard, "ovsdb-server") for shard in shards)


def _daemons(shards: Sequence[Shard]) -> list[Command]:
    """The commands that start all ovs-vswitchds."""
    if shards and kernel_datapath():
        wait_for_boot()
    return [_daemon(shard, "ovs-vswitchd") for shard in shards]


def _daemon(shard: Shard, program: str) -> Command:
    """The command that starts a daemon of a shard; it returns when the daemon serves."""
    folder = shard.rundir
    if program == "ovsdb-server":
        argv = [f"{folder}/conf.db", f"--remote=punix:{shard.database}"]
    else:
        argv = [f"unix:{shard.database}", *([] if kernel_datapath() else ["--disable-system"])]
    argv += ["--detach", "--no-chdir", f"--pidfile={folder}/{program}.pid"]
    argv += [f"--log-file={folder}/{program}.log", "-vconsole:off"]
    return shard, shard.command(program, *argv)


def restart(shard: Shard, program: str) -> None:
    """Start a daemon again that has ended: with the same database, and so with the same bridges and ports.

    An ovs-vswitchd has lost all flows; the controller installs them again.
    """
    databases = DAEMONS[:1] if program == "ovs-vswitchd" else ()
    waiting.finish(_begin([_daemon(shard, program)]), _watched([shard], databases))
    notifications.of_own_namespace([shard])


def complaints(most: int = 20) -> Iterator[tuple[Path, str]]:
    """The last warnings and errors in the logs of Open vSwitch's programs, file by file."""
    for file in sorted(ROOT.glob("*/*.log")):
        lines = [line for line in file.read_text(errors="replace").splitlines() if _COMPLAINT.search(line)]
        if lines:
            yield file, "\n".join(lines[-most:])


def send_frame(shard: Shard) -> None:
    """Send an empty frame of an experimental EtherType by the first port of a shard."""
    bridge = shard.bridges[0]
    frame = "in_port=controller packet=" + bytes(12).hex() + "88b5" + bytes(46).hex()
    output = f"actions=output:{bridge.ports[0][1]}"
    shard.run("ovs-ofctl", "-O", "OpenFlow13", "packet-out", bridge.name, f"{frame} {output}")


def purge_datapath_caches(shards: Sequence[Shard]) -> None:
    """Drop cached forwarding decisions: Open vSwitch acknowledges a change of tables some milliseconds
    before it revalidates its cache."""
    appctl.call([shard.rundir for shard in shards], "revalidator/purge")


def forget_addresses(shards: Sequence[Shard]) -> None:
    """Have bridges that learn forget behind which port an address is."""
    appctl.call([shard.rundir for shard in shards], "fdb/flush")


def _transact(
    shards: Sequence[Shard], transactions: Callable[[Shard], list[list[Operation]]], programs: Sequence[str]
) -> None:
    """Send each database its transactions, one after the other, and wait for all; LabError when one fails, or
    when one of the ``programs`` has ended."""
    with contextlib.ExitStack() as stack:
        watched = stack.enter_context(waiting.opened(_watched(shards, programs)))
        asked = []
        for shard in shards:
            with _database_named(shard):
                connection = stack.enter_context(ovsdb.Connection(shard.database, waiting.STALL))
                for operations in transactions(shard):
                    connection.send(operations)
                    asked.append((shard, connection))
        for shard, connection in asked:
            if not connection.has_more:
                waiting.await_readable(connection.socket.fileno(), watched)
            with _database_named(shard):
                connection.result()


@contextlib.contextmanager
def _database_named(shard: Shard) -> Iterator[None]:
    """Have the error of a connection say whose database it is: LabError."""
    try:
        yield
    except OSError as error:
        raise LabError(f"ovsdb-server of {shard.extent}: {error}") from error


def _run(commands: Iterable[Command]) -> None:
    """Run one command per shard in parallel; LabError with the first error."""
    waiting.finish(_begin(commands))


def _begin(commands: Iterable[Command]) -> list[waiting.Process]:
    """Start daemons, without waiting until they serve."""
    memory = allocator.environment()
    return [
        subprocess.Popen(
            argv, env=shard.environment | memory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for shard, argv in commands
    ]


def _watched(shards: Sequence[Shard], programs: Sequence[str]) -> list[waiting.Daemon]:
    """The daemons that commands of these shards wait for."""
    return [
        waiting.Daemon(
            f"{program} of {shard.extent}",
            shard.rundir / f"{program}.pid",
            shard.rundir / f"{program}.log",
        )
        for shard in shards
        for program in programs
    ]

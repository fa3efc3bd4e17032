"""Installation of flow entries: the controller on both libraries, compared with ``ovs-ofctl``.

The full tables of 64 switches (a small world of 8x8 with 3 hosts each: 192 entries and one
for ARP in each switch) are installed in one private ovs-vswitchd.  The bridges have no ports,
which the measurement does not need.  Each method is timed from its first command to the last
acknowledgement.  Then the installed entries are compared with the predicted ones, and the
switches are emptied.

    ovs-ofctl add-flows       one process per switch from a prepared file, one after the other
    the same, at once         all 64 processes in parallel
    the same, --bundle        one transaction per switch, one after the other
    controller, switches join the controller runs and has compiled its tables, as in a launch;
                              timed from the moment when the switches learn its address
    controller, cold start    timed from the start of its process: interpreter, imports, compilation
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import time
from collections.abc import Callable

from addressing import registry as schemes
from controller import plan
from controller.client import ControllerProcess
from controller.openflow import dump
from controller.rules import FlowTable
from tests.ovs import PrivateOvs, poll, private_ovs
from topos import registry as topologies

TOPOLOGY, SCHEME = "smallworld:8x8,hosts=3", "shortest"
ROUNDS = 3
InstallMethod = Callable[[PrivateOvs, dict[str, FlowTable]], float]


def add_flows(*options: str) -> InstallMethod:
    """Run one ``ovs-ofctl add-flows`` per switch, one after the other."""

    def run(ovs: PrivateOvs, tables: dict[str, FlowTable]) -> float:
        begun = time.perf_counter()
        for bridge in tables:
            ovs.ofctl(*options, "add-flows", bridge, f"{bridge}.txt")
        seconds = time.perf_counter() - begun
        _check(ovs, tables)
        return seconds

    return run


def add_flows_at_once(ovs: PrivateOvs, tables: dict[str, FlowTable]) -> float:
    """Run all ``ovs-ofctl add-flows`` in parallel."""
    begun = time.perf_counter()
    running = [
        subprocess.Popen(
            ["ovs-ofctl", "-O", "OpenFlow13", "add-flows", bridge, f"{bridge}.txt"],
            cwd=ovs.directory,
            env=ovs.environment,
        )
        for bridge in tables
    ]
    assert not any(process.wait() for process in running)
    seconds = time.perf_counter() - begun
    _check(ovs, tables)
    return seconds


def controller(backend: str, prepared: bool) -> InstallMethod:
    """Run the Ryu application as a process; ``prepared``: started before the switches know its address."""

    def run(ovs: PrivateOvs, tables: dict[str, FlowTable]) -> float:
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
            target = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
            begun = time.perf_counter()
            with ControllerProcess.spawn(TOPOLOGY, SCHEME, [listener], backend=backend) as running:
                if prepared:
                    running.wait_for(lambda event: event["event"] == "listening", 60)
                    poll(lambda: running.stats()["prepared"] == len(tables), 60)
                    begun = time.perf_counter()
                ovs.vsctl("--no-wait", *_each(tables, "set-controller", target))
                running.wait_ready(60)
                seconds = time.perf_counter() - begun
                _check(ovs, tables)
                ovs.vsctl(*_each(tables, "del-controller"))
            return seconds

    return run


INSTALL_METHODS: dict[str, InstallMethod] = {
    "ovs-ofctl add-flows": add_flows(),
    "ovs-ofctl add-flows, all at once": add_flows_at_once,
    "ovs-ofctl --bundle add-flows": add_flows("--bundle"),
    "os-ken, switches join": controller("os-ken", prepared=True),
    "Ryu, switches join": controller("ryu", prepared=True),
    "os-ken, cold start": controller("os-ken", prepared=False),
    "Ryu, cold start": controller("ryu", prepared=False),
}


def main() -> None:
    """Print seconds, entries per second and the ratio to ``ovs-ofctl add-flows``, medians of three."""
    tables = _tables()
    entries = sum(len(table.rules) for table in tables.values())
    print(f"{entries} rules over {len(tables)} switches ({SCHEME} on {TOPOLOGY}), median of {ROUNDS}")
    print(f"{'':36}{'seconds':>9}{'rules/s':>10}{'time / add-flows':>18}")
    with private_ovs() as ovs:
        _make_bridges(ovs, tables)
        reference = None
        for name, method in INSTALL_METHODS.items():
            seconds = statistics.median(_once(ovs, tables, method) for _ in range(ROUNDS))
            reference = reference or seconds
            print(f"{name:36}{seconds:9.3f}{entries / seconds:10,.0f}{seconds / reference:18.2f}", flush=True)


def _tables() -> dict[str, FlowTable]:
    fabric = topologies.fabric(TOPOLOGY)
    scheme = schemes.bind(SCHEME, fabric)
    return {fabric.name(v): plan.desired_table(scheme, v) for v in range(fabric.servers, fabric.size)}


def _make_bridges(ovs: PrivateOvs, tables: dict[str, FlowTable]) -> None:
    argv: list[str] = []
    for number, (bridge, table) in enumerate(tables.items(), start=1):
        argv += ["--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=dummy"]
        argv += ["fail_mode=secure", "protocols=OpenFlow13", f"other-config:datapath-id={number:016x}"]
        (ovs.directory / f"{bridge}.txt").write_text("\n".join(table.lines()) + "\n")
    ovs.vsctl(*argv)


def _each(tables: dict[str, FlowTable], *command: str) -> list[str]:
    """One ``ovs-vsctl`` command for every bridge, in one transaction."""
    return [word for bridge in tables for word in ("--", command[0], bridge, *command[1:])]


def _once(ovs: PrivateOvs, tables: dict[str, FlowTable], method: InstallMethod) -> float:
    """Time one run; the switches are empty before and after."""
    seconds = method(ovs, tables)
    for bridge in tables:
        ovs.ofctl("del-flows", bridge)
    return seconds


def _check(ovs: PrivateOvs, tables: dict[str, FlowTable]) -> None:
    for bridge, table in tables.items():
        assert not dump.compare(table, ovs.ofctl("dump-flows", bridge)), bridge


if __name__ == "__main__":
    main()

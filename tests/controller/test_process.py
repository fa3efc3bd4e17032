"""A real controller process of each library against a real Open vSwitch, over loopback TCP."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from addressing import registry as schemes
from controller import phases, plan
from controller.client import ControllerError, ControllerProcess
from controller.openflow import dump
from tests.addressing.cases import few
from tests.ovs import PrivateOvs, poll
from topos import registry as topologies
from topos.fabric import Fabric
from topos.graph import LinkState

BACKENDS = ["os-ken", "ryu"]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as bound:
        yield bound


def target(listener: socket.socket) -> str:
    return "tcp:{}:{}".format(*listener.getsockname())


def check(ovs: PrivateOvs, fabric: Fabric, name: str, down: frozenset[int] = frozenset()) -> None:
    """Every switch holds exactly the predicted table, as ovs-ofctl shows it."""
    scheme = schemes.bind(name, fabric).with_failures(LinkState(down))
    for switch in range(fabric.servers, fabric.size):
        predicted = plan.desired_table(scheme, switch, LinkState(down))
        assert not dump.compare(predicted, *ovs.dumps(fabric.name(switch)))


def check_bases(ovs: PrivateOvs, fabric: Fabric) -> None:
    """Every group has a hash basis: one for a switch, another for each other switch."""
    bases = {}
    for switch in range(fabric.servers, fabric.size):
        groups = ovs.run("ovs-ofctl", "-O", "OpenFlow15", "dump-groups", fabric.name(switch))
        if "group_id" in groups:
            params = re.findall(r"type=select,selection_method=dp_hash,selection_method_param=(\d+)", groups)
            assert len(params) == groups.count("group_id")
            (bases[switch],) = set(params)
    assert len(set(bases.values())) == len(bases)


#: Tables with groups, with source routes, and with labels in IPv4 addresses.
LABS = [("fattree:4", "ecmp"), ("bcube:4,1", "brp"), ("smallworld:4x4,clusters=2x2,hosts=1", "hrsw")]
#: Each of these labs, and each library.
INSTALLING = few(((*lab, backend) for lab in LABS for backend in BACKENDS), lambda item: (item[:2], item[2]))


@pytest.mark.ovs
@pytest.mark.parametrize(("topology", "name", "backend"), INSTALLING)
def test_installed_is_predicted_before_and_after_a_failure(
    topology: str, name: str, backend: str, ovs: PrivateOvs, listener: socket.socket
) -> None:
    fabric = topologies.fabric(topology)
    sockets = ovs.directory
    with ControllerProcess.spawn(topology, name, [listener], backend=backend, sockets=sockets) as controller:
        ovs.add_fabric(fabric, target(listener))
        try:
            controller.wait_ready(30)
            check(ovs, fabric, name)
            check_bases(ovs, fabric)
            link = len(fabric.link_ends) // 2
            end = fabric.link(link).b
            ovs.set_port(f"{fabric.name(end.node)}-eth{end.number}", up=False)
            converged = controller.wait_for(lambda event: event["event"] == "converged", 10)
            assert converged["down"] == [link]
            (port,) = (event for event in controller.events if event["event"] == "port")
            assert (port["switch"], port["port"], port["up"], port["link"]) == (
                fabric.name(end.node),
                end.number,
                False,
                link,
            )
            check(ovs, fabric, name, frozenset({link}))
            ovs.set_port(f"{fabric.name(end.node)}-eth{end.number}", up=True)
            controller.wait_for(lambda event: event["event"] == "converged" and event["down"] == [], 10)
            assert controller.converge({0, 1})["down"] == [0, 1]
            check(ovs, fabric, name, frozenset({0, 1}))
            check_bases(ovs, fabric)
            assert controller.converge({0, 1})["flow_mods"] == 0
            assert controller.stats()["switches"] == fabric.switches
        finally:
            ovs.remove_fabric(fabric)
    assert controller.process.returncode == 0


@pytest.mark.ovs
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_switch_that_reconnects_is_reset_and_filled(
    backend: str, ovs: PrivateOvs, listener: socket.socket
) -> None:
    fabric = topologies.fabric("bcube:2,1")
    with ControllerProcess.spawn("bcube:2,1", "brp", [listener], backend=backend) as controller:
        ovs.add_fabric(fabric, target(listener))
        try:
            controller.wait_ready(30)
            ovs.vsctl("del-controller", "s1")
            controller.wait_for(lambda event: event["event"] == "lost", 10)
            assert controller.converge({0})["down"] == [0]
            ovs.ofctl("add-flow", "s1", "priority=9,udp,actions=drop")
            before = controller.received
            ovs.vsctl("set-controller", "s1", target(listener))
            controller.wait_for(lambda event: event["event"] == "installed", 10, before)
            check(ovs, fabric, "brp", frozenset({0}))
        finally:
            ovs.remove_fabric(fabric)


@pytest.mark.ovs
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_controller_that_takes_over_in_a_phase_leaves_tables_as_they_are(
    backend: str, ovs: PrivateOvs, listener: socket.socket
) -> None:
    """It reads the entries that write the number of an update, and waits for the lab."""
    topology, name, link = "dragonfly:2,1,1", "tz:seed=4", 6
    fabric = topologies.fabric(topology)
    switches = [fabric.name(node) for node in range(fabric.servers, fabric.size)]

    def tables() -> list[tuple[str, ...]]:
        return [dump.normal_lines(ovs.dumps(switch)[0]) for switch in switches]

    with ControllerProcess.spawn(topology, name, [listener], backend=backend, ordered=True) as controller:
        ovs.add_fabric(fabric, target(listener))
        try:
            controller.wait_ready(30)
            for phase in (phases.BESIDE, phases.SWITCHED):
                controller.converge({link}, phase=phase)
            before = tables()
            assert any("load:" in line for lines in before for line in lines)
            controller.close()
            with ControllerProcess.spawn(
                topology, name, [listener], backend=backend, ordered=True, resume=[link]
            ) as second:
                for switch in switches:
                    ovs.vsctl("del-controller", switch, "--", "set-controller", switch, target(listener))
                second.wait_ready(30)
                assert tables() == before
                for phase in (phases.BESIDE, phases.ALONE):
                    second.converge({link}, phase=phase)
                check(ovs, fabric, name, frozenset({link}))
        finally:
            ovs.remove_fabric(fabric)


@pytest.mark.ovs
@pytest.mark.parametrize("backend", BACKENDS)
def test_arp_is_answered_through_open_vswitch(backend: str, ovs: PrivateOvs, listener: socket.socket) -> None:
    """A host's request that arrives at a dummy port goes to the controller; the reply leaves by that port."""
    topology = "smallworld:2x2,hosts=1"
    fabric = topologies.fabric(topology)
    scheme = schemes.bind("hrsw", fabric)
    with ControllerProcess.spawn(topology, "hrsw", [listener], backend=backend) as controller:
        ovs.add_fabric(fabric, target(listener))
        try:
            controller.wait_ready(30)
            ovs.appctl(
                "netdev-dummy/receive",
                "s0-eth1",
                "in_port(1),eth(src=00:00:00:00:01:01,dst=ff:ff:ff:ff:ff:ff),eth_type(0x0806),"
                f"arp(sip={_ip(scheme.ipv4(0))},tip={_ip(scheme.ipv4(2))},op=1,"
                "sha=00:00:00:00:01:01,tha=00:00:00:00:00:00)",
            )
            poll(lambda: controller.stats()["arp_replies"] == 1, 10)
            poll(lambda: "tx pkts=1" in ovs.ofctl("dump-ports", "s0", "1").replace("\n", ""), 10)
            for other in ("2", "3"):
                assert "tx pkts=0" in ovs.ofctl("dump-ports", "s0", other)
        finally:
            ovs.remove_fabric(fabric)


def _ip(address: int) -> str:
    return socket.inet_ntoa(address.to_bytes(4, "big"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_switches_it_is_ready_at_once(backend: str, listener: socket.socket) -> None:
    with ControllerProcess.spawn("torus:3x3", "pow", [listener], backend=backend) as controller:
        controller.wait_ready(30)
        assert [event["event"] for event in controller.events] == ["listening", "ready"]


def test_arguments_that_cannot_work_give_one_line(listener: socket.socket) -> None:
    with (
        ControllerProcess.spawn("bcube:4,1", "hrsw", [listener]) as controller,
        pytest.raises(ControllerError, match="hrsw does not fit bcube:4,1"),
    ):
        controller.wait_ready(30)
    assert controller.process.returncode == 2


def test_unknown_requests_are_reported(listener: socket.socket) -> None:
    with ControllerProcess.spawn("bcube:2,1", "brp", [listener]) as controller:
        for request, answer in (
            ({"op": "dance"}, "unknown request"),
            ({"op": "links", "down": [16]}, "bcube:2,1 has no link 16"),
        ):
            before = controller.received
            controller.send(request)
            with pytest.raises(ControllerError, match=answer):
                controller.wait_for(lambda event: event["event"] == "ready", 30, before)
        assert controller.process.poll() is None


@pytest.mark.ovs
@pytest.mark.parametrize("backend", BACKENDS)
def test_foreign_connections_are_reported_and_do_no_harm(
    backend: str, ovs: PrivateOvs, listener: socket.socket
) -> None:
    """Bytes that are not OpenFlow, and a switch that does not belong to the fabric."""
    fabric = topologies.fabric("bcube:2,1")
    with (
        open(ovs.directory / "log", "wb") as log,
        ControllerProcess.spawn("bcube:2,1", "brp", [listener], backend=backend, log=log) as controller,
        socket.create_connection(listener.getsockname()) as stranger,
    ):
        stranger.sendall(b"\x04\x06" + b"GET / HTTP/1.1\r\n" * 20)
        ovs.vsctl("add-br", "other", "--", "set", "bridge", "other", "datapath_type=dummy")
        ovs.vsctl("set", "bridge", "other", "protocols=OpenFlow13", "other-config:datapath-id=0000000000000063")
        ovs.vsctl("set-controller", "other", target(listener))
        try:
            with pytest.raises(ControllerError, match="datapath 0x63 is not a switch of bcube:2,1"):
                controller.wait_ready(30)
            ovs.vsctl("del-br", "other")
            ovs.add_fabric(fabric, target(listener))
            poll(lambda: any(event["event"] == "ready" for event in controller.events), 30)
            check(ovs, fabric, "brp")
        finally:
            ovs.vsctl("--if-exists", "del-br", "other")
            ovs.remove_fabric(fabric)


def test_it_ends_with_the_lab(listener: socket.socket) -> None:
    """The controller ends even when the lab is killed, because the channel closes."""
    lab = (
        "import socket, sys, time; from controller.client import ControllerProcess as C;"
        "c = C.spawn('bcube:2,1', 'brp', [socket.create_server(('127.0.0.1', 0))]);"
        "c.wait_for(lambda e: e['event'] == 'listening', 30); print(c.process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", lab], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        process.kill()
    poll(lambda: not _runs(number), 10)


def _runs(number: int) -> bool:
    """Whether process ``number`` is a controller that has not ended."""
    try:
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return b"controller" in file.read()
    except OSError:
        return False

"""One lab on several machines: namespaces with addresses of their own, and a real Dask cluster with TLS."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from starlette.testclient import TestClient

from dcnlab.lab.api.app import interface
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.emulation.images import engines
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.top import reader as top
from tests.capabilities import lacking
from tests.lab.cluster import TIMEOUT, Cluster, cluster, until
from tests.lab.controllers import TESTCONTROLLER
from tests.lab.terminal import DCNLAB, Terminal
from tests.lab.underlay import Machine
from topos import registry
from topos.fabric import Fabric

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("machines")]

_FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=60).status)"
_SINK = """\
import socket
with socket.create_server(("", 81)) as listener:
    print("listening", flush=True)
    connection, _ = listener.accept()
with connection, connection.makefile("rb") as stream:
    connection.sendall(b"closed by the server")
    connection.shutdown(socket.SHUT_WR)
    print(len(stream.read()), "bytes")
"""
_SEND = """\
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as connection:
    with connection.makefile("rb") as stream:
        print(stream.read().decode())
    connection.sendall(bytes(1000000))
"""
#: Prints who sends datagrams, what of them is text, and the domains of IPFIX.
_COLLECT = """\
import re, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(("", int(sys.argv[1])))
    print("listening")
    while True:
        data, (source, _) = one.recvfrom(65535)
        ports = sorted({found.decode() for found in re.findall(rb"s\\d+-eth", data)})
        print(source, int.from_bytes(data[12:16]), *ports)
"""
FABRICS = [("torus:3x3", "shortest"), ("clot:4x4", "pow"), ("smallworld:4x4", "hrsw"), ("hdcube:4,2", "dcube")]
#: The kernel forwards in the last one, in servers and in switches.
IN_KERNEL = ("--fast-path", "on", "--switch-fast-path", "on")
#: Agents send to each other only what the other one has buffers for.
CREDITS = ("--buffers", "8", "--flow-control", "credits")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(3, tmp_path_factory.mktemp("cluster")) as found:
        yield found


def name() -> str:
    return f"many-{secrets.token_hex(3)}"


@contextlib.contextmanager
def attached(lab_name: str) -> Iterator[Lab]:
    """A lab that runs, which ends with the block."""
    lab = Lab.attach(lab_name)
    try:
        yield lab
    finally:
        lab.stop()


def spanned(fabric: Fabric, span: str) -> range:
    """The nodes of ``h0-h3`` or ``h0``."""
    first, _, last = span.partition("-")
    return range(fabric.index(first), fabric.index(last or first) + 1)


def joined(fabric: Fabric, dead: set[int], gone: set[int]) -> list[str]:
    """The servers in the largest piece that is left without these links and nodes."""
    graph = nx.Graph((link.a.node, link.b.node) for link in fabric.links() if link.index not in dead)
    largest = max(nx.connected_components(graph), key=len)
    return [fabric.name(node) for node in sorted(largest - gone) if fabric.is_server(node)]


def cut_link(info: dict[str, Any]) -> tuple[str, str]:
    """The ends of a link between two machines, both of which have other links."""
    fabric = registry.fabric(info["topology"])
    machine = {
        node: number
        for number, part in enumerate(info["machines"])
        for span in part["nodes"]
        for node in spanned(fabric, span)
    }
    ends = [(link.a.node, link.b.node) for link in fabric.links()]
    a, b = next((a, b) for a, b in ends if machine[a] != machine[b] and fabric.port_count(min(a, b)) > 1)
    return fabric.name(a), fabric.name(b)


def nothing_left(machines: Cluster, lab: str) -> bool:
    """Whether no part of a lab runs, and no machine has another interface than its own."""
    sockets = [found for found in runtime.labs() if found.name.startswith(lab)]
    return not sockets and all(interfaces(machine) == {"lo", "up0"} for machine in machines.machines)


def interfaces(machine: Machine) -> set[str]:
    """The names of a machine's interfaces."""
    return {line.split()[0].split("@")[0] for line in machine.links().splitlines()}


@pytest.mark.parametrize(("spec", "scheme"), FABRICS, ids=[spec for spec, _ in FABRICS])
def test_all_pairs_answer_also_with_a_link_between_machines_cut(three: Cluster, spec: str, scheme: str) -> None:
    lab_name = name()
    in_kernel = spec == FABRICS[-1][0]
    exported = scheme == "pow"
    configures_itself = ("--autoconfigure", "--ipfix", "h0", "--sampling", "1")
    limited = CREDITS if scheme == "shortest" else ()
    more = IN_KERNEL if in_kernel else configures_itself if exported else limited
    info = three.launched(lab_name, spec, "--scheme", scheme, *more)
    with attached(lab_name) as lab:
        assert len(info["machines"]) == 3
        if exported:
            collects(lab, "h0", 4739)
        all_pairs_answer(lab, info)
        if exported:
            until(lambda: reported(lab) >= set(range(1, 1 + info["switches"])))
        assert [info["fast_path"], info["switch_fast_path"]] == ["on" if in_kernel else "off"] * 2
        if scheme == "pow":
            assert lab.next_hops("h0", "h10", packets=200).shares
            servers_have_configured_themselves(lab, info)
        if limited:
            assert {one.server for one in lab.buffers().channels} == {node["name"] for node in lab.nodes()}
        by_kernel = sum(counts["by kernel"] for counts in lab.stats().servers.values()) if in_kernel else 1
        assert by_kernel > 0
    until(lambda: nothing_left(three, lab_name))


def servers_have_configured_themselves(lab: Lab, info: dict[str, Any]) -> None:
    """One Config and one ACK over each torus link, within a machine or between two; again with a
    machine whose servers were launched again with the addresses that they had."""
    launched, again = info["aacm"], lab.reconfigure()
    for found in (launched, again):
        assert found["frames"]["config"] == 32
        assert found["frames"]["config ack"] >= 32  # more if a Config was retransmitted
        assert found["servers"].keys() == {f"h{number}" for number in range(16)}
        assert 0 <= max(found["servers"].values()) <= found["ms"] + 0.001
    events = [record.event for record in lab.events(kinds=["configured"])]
    assert [event.to_json()["servers"] for event in events] == [launched["servers"], again.servers]
    end_part(lab, 1)
    lab.rejoin("m1")
    assert lab.pingall().lost == []
    assert lab.reconfigure().frames["config"] == 32


def reported(lab: Lab) -> set[int]:
    """The switches of which flows have come to the collector in h0, by number."""
    return {int(number) for number in re.findall(r"^169\.\S+ (\d+)", lab.service_log("collector", "h0"), re.M)}


def all_pairs_answer(lab: Lab, info: dict[str, Any]) -> None:
    """With all links, without one between machines, and with it again; tables follow."""
    assert info["mtu"] == 1450
    assert lab.pingall().lost == []
    a, b = cut_link(info)
    cut = lab.fail(a, b)
    assert lab.info()["down"] == cut["links"]
    assert lab.pingall().lost == []
    for switch in [node["name"] for node in lab.nodes() if node["kind"] == "switch"][::7]:
        assert lab.tables(switch)["equal"]
    lab.restore(a, b)
    assert lab.info()["down"] == []


@pytest.fixture(scope="module")
def lab(three: Cluster) -> Iterator[Lab]:
    lab_name = name()
    three.launched(lab_name, "bcube:4,1", "--scheme", "brp", "--sflow", "h15")
    with attached(lab_name) as found:
        yield found


def test_all_pairs_of_a_bcube_answer(lab: Lab) -> None:
    assert len(lab.info()["machines"]) == 3
    all_pairs_answer(lab, lab.info())


def distant(lab: Lab) -> tuple[str, str]:
    """Two servers on different machines."""
    first, second = (part["nodes"][0].partition("-")[0] for part in lab.info()["machines"][:2])
    return first, second


def test_programs_run_where_their_host_is(lab: Lab) -> None:
    for host in distant(lab):
        done = lab.run(host, ["sh", "-c", "ip -br addr; cat; echo wrong >&2; exit 3"])
        assert done.returncode == 3
        assert done.stderr == "wrong\n"
        address = next(node["ipv4"] for node in lab.nodes() if node["name"] == host)
        assert address in done.stdout
    words = [*DCNLAB, "exec", lab.config.name, distant(lab)[1], "cat"]
    text = "line\n" * 100_000
    assert subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout == text


def test_a_program_ends_with_its_client(lab: Lab) -> None:
    mark = f"{secrets.randbelow(10**6) + 10**6}"
    words = [*DCNLAB, "exec", lab.config.name, distant(lab)[1], "sleep", mark]
    with subprocess.Popen(words) as client:
        until(lambda: running(mark))
        client.kill()
    until(lambda: not running(mark))


def running(mark: str) -> bool:
    """Whether a program runs with this as its only argument."""
    wanted = b"sleep\0" + mark.encode() + b"\0"
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "cmdline").read_bytes() == wanted:
                return True
    return False


def test_measurements_cross_machines(lab: Lab) -> None:
    a, b = distant(lab)
    before = lab.counters().bytes
    assert lab.iperf(a, b, seconds=1).mbps > 0
    assert lab.counters().bytes > before + 100_000
    assert lab.traceroute(a, b).hops[-1] == b
    assert lab.route(a, b)[0] == a
    assert lab.ping(a, b).held
    stream = lab.stream(a, b, seconds=0.2)
    assert stream.sent >= stream.received >= 10
    assert stream.lost == stream.sent - stream.received
    traced = lab.trace(a, b)
    assert traced.held
    assert [hop.node for hop in traced.hops] == lab.route(a, b)
    assert [hop.ms for hop in traced.hops] == sorted(hop.ms for hop in traced.hops)
    for pattern, flows in (("incast", 15), ("all-to-all", 240)):
        sent = lab.overload(pattern, frames=2)
        assert (sent.sent, sent.unsent) == (2 * flows, 0)
        assert sent.lost == sent.sent - sent.received < sent.sent


def test_keys_are_on_all_machines(lab: Lab) -> None:
    """Whichever machines have the servers that ask and those that hold a key."""
    a, b = distant(lab)
    value = secrets.token_bytes(200_000)
    for key, origin in (("colour", a), ("taste", b)):
        holders = lab.put(key, value, replicas=3, origin=origin)
        assert [place.bytes for place in lab.where(key, b)][:3] == [len(value)] * 3
        assert lab.find(key, a) == (holders[0], value)
    assert {found.key for found in lab.keys(b)} == {"colour", "taste"}
    lab.delete("colour", b)
    assert lab.get("colour", a) is None


def test_flows_cross_machines(lab: Lab) -> None:
    found = lab.traffic("permutation", sizes="fixed:20K", timeout=60)
    assert (found.held, found.flows, found.failed) == (True, 16, 0)
    assert 0 < found.fct_median_ms <= found.fct_p99_ms
    with pytest.raises(UsageError, match="no congestion control nonesuch"):
        lab.traffic("permutation", cc="nonesuch")


def test_a_stream_that_nobody_receives_is_one_error(lab: Lab) -> None:
    a, b = distant(lab)
    lab.fail(b)
    with pytest.raises(LabError, match="no packet of the stream arrived"):
        lab.stream(a, b, seconds=1000)
    lab.restore(b)


def test_a_program_on_another_machine_has_a_terminal(lab: Lab) -> None:
    terminal = Terminal(*DCNLAB, "exec", lab.config.name, distant(lab)[1], "--", "bash", "--norc")
    try:
        terminal.wait_for(r"bash-\S+# ")
        terminal.type("tty\n")
        terminal.wait_for(r"/dev/pts/\d+\s")
        terminal.resize(33, 77)
        terminal.type("until stty size | grep '^33 77'; do :; done\n")
        terminal.wait_for(r"[^^]33 77\s")
        terminal.type("sleep 1000\n")
        terminal.interrupt(r"\^C[\s\S]*# ")
        terminal.type("exit 3\n")
        assert terminal.code() == 3
    finally:
        terminal.close()


def test_a_program_whose_output_nobody_reads_ends(lab: Lab) -> None:
    """By SIGPIPE, as on one machine."""
    _, b = distant(lab)
    exec_ = subprocess.Popen(
        [*DCNLAB, "exec", lab.config.name, b, "--", "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert exec_.stdout is not None
    assert exec_.stderr is not None
    assert exec_.stdout.read(4) == b"y\ny\n"
    exec_.stdout.close()
    assert exec_.wait(TIMEOUT) != 0
    assert exec_.stderr.read() == b""
    assert lab.run(b, ["pgrep", "-x", "yes"]).returncode == 1


def test_what_looks_into_a_lab_sees_all_machines(lab: Lab) -> None:
    a, b = distant(lab)
    steps = lab.explain(a, b)
    assert [step["node"] for step in steps] == lab.route(a, b)
    assert [step["installed"] for step in steps] == [None if step["node"][0] == "h" else True for step in steps]
    names = [node["name"] for node in lab.nodes()]
    found = lab.stats()
    assert [*found.servers, *(one.switch for one in found.switches)] == names
    assert list(dict.fromkeys(port.switch for port in found.ports)) == [
        name for name in names if name[0] == "s"
    ]
    assert {name.split(" ")[0] for name in lab.overruns().places} >= {a, b}


def test_what_must_hold_is_checked_on_all_machines(lab: Lab) -> None:
    """Also with a cut link, and with an entry too many in a switch of another machine."""
    lab.fail(*cut_link(lab.info()))
    found = lab.invariants(within=TIMEOUT)
    assert (found.asked, found.violations, found.unsettled) == (240, 0, "")
    lab.restore(*cut_link(lab.info()))
    far = registry.fabric("bcube:4,1").name(max(nodes_of(lab, 2)))
    control = ["ovs-ofctl", "-O", "OpenFlow13"]
    assert lab.run(far, [*control, "add-flow", far, "dl_type=0x88b5,actions=drop"]).returncode == 0
    found = lab.invariants(within=TIMEOUT, most=20)
    assert (found.violated, found.wrong_tables) == (("wrong_tables",), [far])
    assert lab.run(far, [*control, "del-flows", far, "dl_type=0x88b5"]).returncode == 0


def test_switches_of_all_machines_send_to_a_collector(lab: Lab) -> None:
    """Their counters arrive, by sFlow, from an address of each machine."""
    collects(lab, "h15", 6343)
    every = {f"{port.switch}-eth" for port in lab.stats().ports}
    until(lambda: every <= set(re.findall(r"s\d+-eth", lab.service_log("collector", "h15"))))
    agents = set(re.findall(r"169\.254\.(\d+)\.\d+", lab.service_log("collector", "h15")))
    assert agents == {"64", "66", "68"}


def collects(lab: Lab, server: str, port: int) -> None:
    """Have a server print what comes to a port."""
    words = [sys.executable, "-uc", _COLLECT, str(port)]
    lab.serve("collector", server, words, ready="log:listening")


def test_links_between_machines_are_impaired_at_both_ends(lab: Lab) -> None:
    switch, server = sorted(cut_link(lab.info()), reverse=True)
    others = [node["name"] for node in lab.nodes() if node["kind"] == "server" and node["name"] != server]
    target = next(name for name in others if lab.route(server, name)[1] == switch)
    back = lab.route(target, server)[-2] == switch
    assert [one.link for one in lab.impair(server, switch, delay="30ms")] == [(server, switch)]
    assert [one.impairments for one in lab.impairments()] == [{"delay": "30ms"}]
    assert lab.ping(server, target).rtt_ms.p50 > 30 * (1 + back)
    assert {queue["node"] for queue in lab.queues()} <= {server, switch}
    lab.impair(server, switch, clear=True)
    assert lab.impairments() == []


def test_the_picture_has_the_whole_lab(lab: Lab) -> None:
    a, b = distant(lab)
    client = TestClient(interface(lab, Broadcast(lab)))
    for path in (
        "drawing",
        "state",
        f"paths/{a}/{b}",
        f"next-hops/{b}",
        "stats",
        "impairments",
        "nodes/s0/flows",
    ):
        assert client.get(f"/{path}").status_code == 200, path
    drawn = client.get("/drawing").json()["nodes"]
    assert [node["ipv4"] for node in drawn] == [node["ipv4"] for node in lab.nodes()]
    assert client.post(f"/nodes/{a}/fail").json()["up"] is False
    assert client.get("/state").json()["down"] == lab.info()["down"] != []
    client.post(f"/nodes/{a}/restore")
    snapshot = top.once(lab, 0.1)
    assert (len(snapshot.links), snapshot.down) == (len(lab.counters().links), 0)


def test_a_dead_agent_is_known_everywhere(lab: Lab) -> None:
    """Its links count as down until it runs again; the tables of all machines follow."""
    _, b = distant(lab)
    lab.kill(b)
    until(lambda: lab.info()["restarts"].get(f"agent of {b}") == 1 and lab.info()["down"] == [])
    assert lab.pingall().lost == []


def test_wrong_requests_are_one_line(lab: Lab) -> None:
    with pytest.raises(UsageError, match="no node 'h99'"):
        lab.tables("h99")
    with pytest.raises(UsageError, match="delay must be written as in"):
        lab.impair("h0", delay="long")
    with pytest.raises(UsageError, match="were given their addresses"):
        lab.reconfigure()


def test_the_machine_of_the_host_has_the_image(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its engine is asked, not that of the machine of the client."""
    monkeypatch.setattr(engines, "exported", None)
    _, b = distant(lab)
    with pytest.raises(UsageError, match="image: podman:none: podman "):
        lab.popen(b, ["true"], image="podman:none")
    with pytest.raises(UsageError, match="image: podman:none: podman "):
        lab.serve("none", b, ["true"], image="podman:none")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--controller", "remote:127.0.0.1:1"), "use an address that all machines reach"),
        (("--controller", "remote:10.99.0.1:1"), "no controller answers at 10.99.0.1:1"),
        (("--controller", "app:switch.py", "--rest-port", "8080"), "rest_port needs a lab on one machine"),
        (("--placement", "/nowhere"), "placement /nowhere: No such file"),
    ],
)
def test_what_a_lab_on_machines_cannot_be(three: Cluster, words: tuple[str, ...], says: str) -> None:
    done = three.up("bcube:2,1", "--scheme", "brp", "-d", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert says in done.stderr


def test_cables_swapped_between_machines_are_named(three: Cluster) -> None:
    words = ("--scheme", "pow", "--autoconfigure", "--miswire", "h0:1,h8:3", "-d", "--name", name())
    done = three.up("torus:3x3", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.count(" is connected to ") == 4
    assert "h0 (0,0) port 1 is connected to h" in done.stderr


@contextlib.contextmanager
def learning_switch(machine: Machine, folder: Path) -> Iterator[str]:
    """Open vSwitch's learning switch on a machine; where it listens."""
    command = [TESTCONTROLLER, f"ptcp:6653:{machine.address}", f"--unixctl={folder}/ctl"]
    connect = "import socket, sys; socket.create_connection((sys.argv[1], 6653), 60)"
    with subprocess.Popen(machine.command(command), stderr=subprocess.DEVNULL) as process:
        try:
            until(
                lambda: process.poll() is not None or machine.python(connect, machine.address).returncode == 0
            )
            assert process.poll() is None
            yield f"{machine.address}:6653"
        finally:
            process.kill()


def test_one_controller_steers_the_switches_of_all_machines(three: Cluster, tmp_path: Path) -> None:
    """The spanning tree along which it floods goes over links between machines."""
    if shutil.which(TESTCONTROLLER) is None:
        lacking(f"not installed: openvswitch-testcontroller ({TESTCONTROLLER})")
    lab_name = name()
    with learning_switch(three.machines[1], tmp_path) as address:
        words = ("--controller", f"remote:{address}", "--no-loops")
        info = three.launched(lab_name, "dragonfly:2,1,1", *words)
        with attached(lab_name) as lab:
            control = info["controller"]
            assert (control["switches"], control["connected"], control["notes"]) == (6, 6, [])
            until(lambda: lab.pingall().held)
            assert lab.tables("s0")["equal"] is None
            assert lab.explain("h0", "h5")[-1]["delivered"]
            with pytest.raises(UsageError, match="name one with --switch"):
                lab.capture("controller", tmp_path / "captured")


_HUB = """
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_cls

class Hub(OSKenApp):
    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event):
        path = event.msg.datapath
        out = path.ofproto_parser.OFPActionOutput(path.ofproto.OFPP_FLOOD)
        apply = path.ofproto_parser.OFPInstructionActions(path.ofproto.OFPIT_APPLY_ACTIONS, [out])
        path.send_msg(path.ofproto_parser.OFPFlowMod(path, priority=1, instructions=[apply]))
"""


def test_every_machine_has_the_applications_of_the_user(three: Cluster, tmp_path: Path) -> None:
    (tmp_path / "hub.py").write_text(_HUB)
    lab_name = name()
    words = ("--controller", f"app-only:{os.path.relpath(tmp_path / 'hub.py')}", "--no-loops")
    info = three.launched(lab_name, "dragonfly:2,1,1", *words)
    with attached(lab_name) as lab:
        assert (info["controller"]["connected"], info["controller"]["library"]) == (6, "os-ken")
        until(lambda: lab.pingall().held)
        lab.fail(*cut_link(info))  # the spanning tree follows on all machines
        until(lambda: lab.pingall().held)
        an_interface_of_a_machine_is_a_port(three, lab)
        lab.kill("controller")
        until(lambda: lab.info()["controller"]["connected"] == 6 and lab.info()["restarts"])
        assert lab.pingall().held


def an_interface_of_a_machine_is_a_port(three: Cluster, lab: Lab) -> None:
    """Of the machine that runs the switch; what is behind it reaches hosts of all machines."""
    machines = three.machines[:2]
    switches = [registry.fabric("dragonfly:2,1,1").name(max(nodes_of(lab, number))) for number in range(2)]
    for machine in machines:
        addressed = "address add 10.0.0.99/24 dev plug1"
        for words in ("link add plug0 type veth peer name plug1", "link set plug1 up", addressed):
            subprocess.run(machine.command(["ip", *words.split()]), check=True)
    for switch in switches:
        assert lab.attach_interface(switch, "plug0").port == 4
    assert [one.switch for one in lab.info().outside.attached] == switches
    with pytest.raises(UsageError, match="name one with --switch"):
        lab.detach_interface("plug0")
    lab.detach_interface("plug0", switches[1])
    addresses = [node["ipv4"] for node in lab.nodes() if node["ipv4"]]
    for address in addresses:
        ping = machines[0].command(["ping", "-c1", "-W60", "-Iplug1", address])
        assert subprocess.run(ping, stdout=subprocess.DEVNULL, check=False).returncode == 0
    lab.detach_interface("plug0")
    for machine in machines:
        subprocess.run(machine.command(["ip", "link", "del", "plug0"]), check=True)


def test_the_prompt_reaches_all_machines(three: Cluster) -> None:
    """Commands in nodes, Mininet's and the lab's own; what needs Mininet's objects is refused."""
    typed = ["nodes", "h0 ping -c1 -W60 h3", "h3 sh -c 'exit 3'", "pingall", "iperf h0 h3", "link h0 s2 down"]
    typed += ["links", "link h0 s2 up", "tables s1", "path h0 h3", "py 1", "net", "dump", "foo", "exit"]
    command = [*DCNLAB, "up", "bcube:2,1", "--scheme", "brp", "--machines", three.address, "--name", name()]
    done = subprocess.run(
        three.machines[0].command(command), input="\n".join(typed) + "\n", capture_output=True, text=True,
        check=False, env=three.environment, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    for expected in (
        "h0 h1 h2 h3 s0 s1 s2 s3", "1 received, 0% packet loss", "(12/12 received)", "Mb/s from h0 to h3",
        "h0-eth2<->s2-eth1 (down)", "entries installed, as predicted", "py needs a lab on one machine",
        "h0 h0-eth1:s0-eth1 h0-eth2:s2-eth1", "*** Unknown command: foo",
    ):  # fmt: skip
        assert expected in shown, shown
    assert len(re.findall(r"h\d: server .* 10\.0\.0\.\d m\d", shown)) == 4
    assert "Traceback" not in shown + done.stderr


def test_without_the_key_nobody_launches(three: Cluster, tmp_path: Path) -> None:
    from dcnlab.lab.machines.certificates import Certificates

    Certificates(tmp_path / "other").create()
    environment = {**three.environment, "DCNLAB_MACHINES": str(tmp_path / "other")}
    words = [*DCNLAB, "up", "bcube:2,1", "--scheme", "brp", "-d", "--machines", three.address]
    done = subprocess.run(
        three.machines[0].command(words), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert "no scheduler answers at tls://10.99.0.1:8786" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_coordinator_that_is_killed_ends_the_lab_everywhere(three: Cluster, tmp_path: Path) -> None:
    """With a placement from a file: nothing on the second machine."""
    file, lab_name = tmp_path / "parts.yaml", name()
    file.write_text("m0: [h0, h1, s0, s2]\nm1: []\nm2: [h2, h3, s1, s3]\n")
    words = [
        "--multipath",
        "2",
        "--placement",
        str(file),
        "--nat",
        "--expose",
        "h0:80=18080,h3:80=18081,h3:81=18082",
    ]
    info = three.launched(lab_name, "bcube:2,1", "--scheme", "brp", *words)
    assert [part["nodes"] for part in info["machines"]] == [["h0-h1", "s0", "s2"], ["h2-h3", "s1", "s3"]]
    lab = Lab.attach(lab_name)
    assert lab.pingall().received == 12
    with contextlib.suppress(UsageError):  # a kernel without Multipath TCP
        found = lab.mptcp("h0", "h3", seconds=0.2)
        assert found.paths == found.mptcp.subflows == 2
    for server, port in (("h0", 18080), ("h3", 18081)):
        reaches_the_outside(three, lab, server, port)
    sends_after_the_server_has_ended(three, lab, "h3", 18082)
    processes = [process for process in Path("/proc").iterdir() if process.name.isdigit()]
    (coordinator,) = [process for process in processes if is_coordinator(process, lab_name)]
    os.kill(int(coordinator.name), signal.SIGKILL)
    path = runtime.socket_path(lab_name)
    until(lambda: not runtime.in_use(path) and nothing_left(three, lab_name))


def reaches_the_outside(three: Cluster, lab: Lab, server: str, port: int) -> None:
    """A server is let out by its machine, and its port 80 is one of the coordinator's machine."""
    lab.serve("web", server, [sys.executable, "-m", "http.server", "80"], ready="tcp:80")
    done = three.machines[0].python(_FETCH, f"http://127.0.0.1:{port}/")
    assert done.stdout.strip() == "200", done.stderr
    assert "dev outside" in lab.run(server, ["ip", "route", "get", "192.0.2.1"]).stdout


def sends_after_the_server_has_ended(three: Cluster, lab: Lab, server: str, port: int) -> None:
    """What a client sends arrives although the server, at its port 81, has ended its own direction before."""
    lab.serve("sink", server, [sys.executable, "-c", _SINK], ready="log:listening")
    done = three.machines[0].python(_SEND, str(port))
    assert done.stdout.strip() == "closed by the server", done.stderr
    until(lambda: "1000000 bytes" in lab.service_log("sink", server))


def is_coordinator(process: Path, lab_name: str) -> bool:
    with contextlib.suppress(OSError):
        words = (process / "cmdline").read_bytes().decode().split("\0")
        return "dcnlab.lab.machines" in words and f'"name": "{lab_name}"' in words[-2]
    return False


def nodes_of(lab: Lab, number: int) -> set[int]:
    """The nodes of a machine."""
    info = lab.info()
    fabric = registry.fabric(info["topology"])
    return {node for span in info["machines"][number]["nodes"] for node in spanned(fabric, span)}


def lose_the_third(three: Cluster, lab: Lab) -> None:
    """Kill the worker of the third machine, unless the lab has lost it before; returns when all know of it."""
    if not lab.info()["machines"][2]["lost"]:
        three.workers[2].kill()
    until(lambda: lab.info()["machines"][2]["lost"])
    until(lambda: "Remove worker addr: tls://10.99.0.3:" in three.scheduler_log.read_text())


def have_the_third(three: Cluster, lab: Lab) -> None:
    """Let the third machine rejoin, if an earlier test has left the lab without it."""
    if lab.info()["machines"][2]["lost"]:
        if three.workers[2].poll() is not None:
            three.start_again(2)
        lab.rejoin("m2")


def test_the_living_go_on_when_a_machine_is_lost(three: Cluster, lab: Lab) -> None:
    fabric, gone = registry.fabric("bcube:4,1"), nodes_of(lab, 2)
    dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & gone}
    lose_the_third(three, lab)
    until(lambda: set(lab.info()["down"]) == dead)
    assert [part["lost"] for part in lab.info()["machines"]] == [False, False, True]
    assert any("m2 (10.99.0.3) is lost" in line for line in lab.info()["ended"])
    servers = joined(fabric, dead, gone)
    assert len(servers) > 1
    until(lambda: all_answer(lab, servers))
    with pytest.raises(LabError, match="is lost"):
        lab.tables(fabric.name(max(gone)))


def test_a_machine_that_was_lost_rejoins(three: Cluster, lab: Lab) -> None:
    """It comes back without the link that was cut meanwhile."""
    lose_the_third(three, lab)
    with pytest.raises(LabError, match="no worker runs there"):
        lab.rejoin("m2")
    a, b = cut_link(lab.info())
    cut = lab.fail(a, b).links
    lab.impair(a, b, loss="1%")
    three.start_again(2)
    words = [*DCNLAB, "machines", "rejoin", lab.config.name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=three.environment)
    assert (done.returncode, done.stdout.partition(" after")[0]) == (0, f"m2 back in {lab.config.name}"), done
    assert lab.info()["down"] == cut
    assert [part["lost"] for part in lab.info()["machines"]] == [False, False, False]
    inside = Lab.attach(f"{lab.config.name}-m2")
    assert [one.impairments for one in inside.impairments()] == [{"loss": "1%"}]
    lab.impair(a, b, clear=True)
    assert lab.pingall().lost == []
    lab.restore(a, b)
    assert lab.info()["down"] == []
    with pytest.raises(UsageError, match="no machine of this lab is lost"):
        lab.rejoin()


def test_machines_that_do_not_reach_each_other_go_on_apart(three: Cluster, lab: Lab) -> None:
    """Both sides notice, and route without the links between them, until the network works again."""
    have_the_third(three, lab)
    fabric, apart = registry.fabric("bcube:4,1"), nodes_of(lab, 1)
    dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & apart}
    between = {link.index for link in fabric.links() if len({link.a.node, link.b.node} & apart) == 1}
    three.machines[1].connect(False)
    until(lambda: set(lab.info()["down"]) == dead)
    assert [part["silent"] for part in lab.info()["machines"]] == [False, True, False]
    until(lambda: all_answer(lab, joined(fabric, dead, apart)))
    inside = Lab.attach(f"{lab.config.name}-m1")
    until(lambda: between <= set(inside.info()["down"]))
    three.machines[1].connect(True)
    until(lambda: not lab.info()["down"] and not inside.info()["down"])
    until(lambda: lab.pingall().lost == [])  # the tables of the other machines follow a moment later


def all_answer(lab: Lab, servers: list[str]) -> bool:
    """Whether these servers reach each other."""
    return lab.ping(pairs=tuple((a, b) for a in servers for b in servers if a != b)).held


def test_a_part_that_is_killed_leaves_nothing_and_rejoins(three: Cluster, lab: Lab) -> None:
    """Its guard is killed: the kernel ends the rest of it."""
    have_the_third(three, lab)
    end_part(lab, 1)
    until(lambda: [part["lost"] for part in lab.info()["machines"]] == [False, True, False])
    until(lambda: interfaces(three.machines[1]) == {"lo", "up0"})
    assert lab.rejoin("m1").machines == ["m1"]
    assert lab.info()["down"] == []
    assert lab.pingall().lost == []


def end_part(lab: Lab, number: int) -> None:
    """Kill the guard of a machine's part: the kernel ends the rest of it."""
    with contextlib.closing(Connection(runtime.socket_path(f"{lab.config.name}-m{number}"))) as connection:
        os.kill(connection.peer, signal.SIGKILL)
    until(lambda: lab.info()["machines"][number]["lost"])


def knows_failures(lab: Lab) -> bool:
    """Whether an advertisement that an agent has names a link."""
    return any("links known down" in counts for counts in lab.stats().servers.values())


def labelled(lab: Lab) -> bool:
    """Whether servers have the labels of the links that are up, and reach each other by them."""
    with contextlib.suppress(LabError):  # what is up has changed meanwhile
        return lab.label().lost == 0
    return False


def test_agents_that_tell_each_other_learn_that_a_machine_is_lost_and_is_back(three: Cluster) -> None:
    """Nobody else tells them of failures, or gives them labels.  A link that was restored meanwhile comes up
    with the machine, although its agent there does not know what it has advertised before."""
    lab_name = name()
    words = ("--scheme", "wmgr", "--autoconfigure", "--link-state", "agents")
    three.launched(lab_name, "torus:3x3", *words)
    with attached(lab_name) as lab:
        fabric, gone = registry.fabric("torus:3x3"), nodes_of(lab, 2)
        dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & gone}
        cut = next(link for link in fabric.links() if len({link.a.node, link.b.node} & gone) == 1)
        ends = [fabric.name(end.node) for end in (cut.a, cut.b)]
        lab.fail(*ends)
        end_part(lab, 2)
        living = [Lab.attach(f"{lab_name}-m{number}") for number in range(2)]
        until(lambda: all(set(part.info()["down"]) == dead for part in living))
        until(lambda: all_answer(lab, joined(fabric, dead, gone)))
        until(lambda: labelled(lab))
        lab.restore(*ends)
        assert lab.rejoin("m2").machines == ["m2"]
        assert lab.info()["down"] == []
        until(lambda: not knows_failures(lab))
        until(lambda: lab.pingall().held)
        until(lambda: labelled(lab))
    until(lambda: nothing_left(three, lab_name))


def test_without_a_scheduler_the_lab_ends_everywhere(three: Cluster, lab: Lab) -> None:
    """The last test: there is no cluster after it."""
    path = lab.path
    three.scheduler.kill()
    until(lambda: not runtime.in_use(path) and nothing_left(three, path.stem))

"""Controllers that nobody here wrote, on our fabrics; wrong ones give one line, and nothing hangs."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx
import pytest

from dcnlab.lab.client import Lab
from tests.lab.controllers import TESTCONTROLLER, free_port, learning_switch
from tests.lab.lines import dcnlab
from tests.lab.terminal import DCNLAB, Terminal
from tests.ovs import poll

pytestmark = pytest.mark.lab

needs_testcontroller = pytest.mark.skipif(
    shutil.which(TESTCONTROLLER) is None and not os.environ.get("DCNLAB_REQUIRE_LABS"),
    reason=f"not installed: openvswitch-testcontroller ({TESTCONTROLLER})",
)

BROKEN = {
    "syntax.py": ("def x(:\n", 2, r"application \S*syntax.py, line 1: SyntaxError: .*"),
    "raises.py": ("import os_ken\n\n1 / 0\n", 1, r"application \S*raises.py, line 3: ZeroDivisionError: .*"),
    "empty.py": ("import os_ken\n", 1, r"application \S*empty.py: TypeError: it defines no application: .*"),
    "starts.py": (
        "from os_ken.base.app_manager import OSKenApp\n\n\nclass App(OSKenApp):\n"
        "    def __init__(self, *names, **contexts):\n        raise KeyError('x')\n",
        1,
        r"application \S*starts.py, line 6: KeyError: 'x'.*",
    ),
}
WRONG = {
    "somebody": r"controller must be ours, none, remote:HOST:PORT, .*, not 'somebody'",
    "remote:6653": r"controller 'remote:6653' is not remote:HOST:PORT",
    "remote:127.0.0.1:99999": r"controller 'remote:127.0.0.1:99999' is not remote:HOST:PORT",
    "ssl:127.0.0.1:6653": r"ssl:127.0.0.1:6653 needs controller_ca: a file in PEM format",
    "app:": r"controller 'app:' is not app:FILE.py\[,MODULE...\]",
    "app:nowhere.py": r"application nowhere.py: No such file or directory",
    "app:ryu.app.nothing": r"there is no module ryu.app.nothing: a file is written with its .py",
    "remote:127.0.0.1:1": r"no controller answers at 127.0.0.1:1 \(Connection refused\): start it first",
}
#: An application of os-ken that counts the links that LLDP discovers.
LINKS = """\
from os_ken.base.app_manager import OSKenApp
from os_ken.controller.handler import set_ev_cls
from os_ken.topology import event, switches


class Links(OSKenApp):
    _CONTEXTS = {"switches": switches.Switches}

    def __init__(self, *names, **contexts):
        super().__init__(*names, **contexts)
        self.links = set()

    @set_ev_cls(event.EventLinkAdd)
    def added(self, found):
        self.links.add((found.link.src.dpid, found.link.src.port_no))
        self.logger.info("links discovered: %d", len(self.links))
"""


def controller(lab: Lab) -> dict[str, Any]:
    return dict(lab.info()["controller"])


def rest(lab: Lab, path: str, body: Any = None) -> Any:
    """What the applications' REST interface answers."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(controller(lab)["rest"] + path, data, 30) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def directed_links(lab: Lab) -> int:
    """How many links between switches LLDP can see, each in both directions."""
    ports = lab.stats().ports
    switches = {port.switch for port in ports}
    return sum(port.to in switches for port in ports)


# --- a controller elsewhere ---------------------------------------------------


@needs_testcontroller
def test_a_remote_controller_steers_dies_and_returns() -> None:
    with learning_switch() as port:
        lab = Lab("jellyfish:4,8,3", controller=f"remote:127.0.0.1:{port}", no_loops=True).start()
        try:
            assert "the lab installs none" in lab.config.note()
            assert (controller(lab)["connected"], controller(lab)["notes"]) == (8, [])
            assert lab.pingall().held
            assert sum(item.rx_packets for item in lab.stats().ports) > 0
            assert lab.ping("h0", "h3").held  # its entries are of single flows, and may have expired
            _, *switches, last = lab.explain("h0", "h3")
            assert (last["node"], last["delivered"]) == ("h3", True)
            assert all("icmp,in_port=" in step["entry"] and step["installed"] for step in switches)
            for names in (["h0", "s0"], ["s0", "s2"]):
                assert lab.fail(*names)["detection_ms"] is not None
                lab.restore(*names)
            assert lab.pingall().held
            shown = dcnlab("ps").stdout
            assert re.search(rf"{lab.config.name} .*remote:127.0.0.1:{port} 8/8 +running", shown), shown
        except BaseException:
            lab.stop()
            raise
    try:
        poll(lambda: controller(lab)["connected"] == 0, 10)
        line = f"controller remote:127.0.0.1:{port}: 0 of 8 switches connected (Connection refused)"
        poll(lambda: controller(lab)["notes"] == [line], 30)
        for command in (["ps"], ["info", lab.config.name], ["doctor"]):
            assert line in dcnlab(*command).stdout
        lab.restore(*["s0", "s2"] if lab.fail("s0", "s2")["links"] else [])
        with learning_switch(port=port):
            poll(lambda: controller(lab)["connected"] == 8, 30)
            assert controller(lab)["notes"] == []
            assert lab.pingall().held
    finally:
        lab.stop()


@needs_testcontroller
def test_tls_with_given_certificates(tmp_path: Path) -> None:
    for name in ("ca", "controller", "switch"):
        _certificate(tmp_path, name)
    files = [f"--private-key={tmp_path}/controller.key", f"--certificate={tmp_path}/controller.pem"]
    with learning_switch(*files, f"--ca-cert={tmp_path}/ca.pem", method="pssl") as port:
        options = {
            "controller": f"ssl:127.0.0.1:{port}", "controller_ca": f"{tmp_path}/ca.pem",
            "controller_cert": f"{tmp_path}/switch.pem", "controller_key": f"{tmp_path}/switch.key",
        }  # fmt: skip
        with Lab("jellyfish:4,8,3", no_loops=True, **options) as lab:
            assert controller(lab)["connected"] == 8
            assert lab.ping("h0", "h3").held
        _certificate(tmp_path, "other")
        options["controller_ca"] = f"{tmp_path}/other.pem"
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        done = dcnlab("up", "jellyfish:4,8,3", "--test", "pingpairs", *words)
    assert done.returncode == 1
    assert re.search(r"TLS failed \(.*certificate verify failed.*\): see controller_ca", done.stderr), (
        done.stderr
    )


def _certificate(folder: Path, name: str) -> None:
    """A key and a certificate; that of ``ca`` and ``other`` is its own, the others are signed by ``ca``."""
    key, request, made = (folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
    subject = ["-nodes", "-newkey", "rsa:2048", "-keyout", str(key), "-subj", f"/CN={name}"]
    if name in ("ca", "other"):
        commands = [["req", "-x509", *subject, "-days", "2", "-out", str(made)]]
    else:
        signing = ["-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", "-days", "2"]
        commands = [["req", *subject, "-out", str(request)]]
        commands.append(["x509", "-req", "-in", str(request), *signing, "-out", str(made)])
    for command in commands:
        subprocess.run(["openssl", *command], check=True, capture_output=True)


@needs_testcontroller
def test_a_flooded_loop_is_said_and_the_lab_survives() -> None:
    with learning_switch() as port, Lab("jellyfish:4,8,3", controller=f"remote:127.0.0.1:{port}") as lab:
        dcnlab("exec", lab.config.name, "h0", "ping", "-c1", "-W1", "h3")
        said = re.compile(
            r"frames circulate in a loop: s\d got one broadcast \d+ times within 0.5 s from s\d, "
            r"and [\d,]+ packets/s"
        )
        poll(lambda: any(said.search(line) for line in controller(lab)["notes"]), 30)
        poll(lambda: f"{lab.config.name}: frames circulate" in dcnlab("ps").stdout, 30)
        poll(lambda: "frames circulate" in dcnlab("events", lab.config.name).stdout, 30)


@needs_testcontroller
def test_servers_that_relay_keep_their_agents() -> None:
    with learning_switch() as port, Lab("bcube:2,1", "brp", controller=f"remote:127.0.0.1:{port}") as lab:
        assert "agents relay by the scheme" in lab.config.note()
        assert set(lab.stats().servers) == {"h0", "h1", "h2", "h3"}
        assert controller(lab)["connected"] == 4
        assert lab.fail("h0", "s0")["detection_ms"] is not None
        lab.restore("h0", "s0")


def test_nobody_controls_the_switches_but_the_user() -> None:
    with Lab("jellyfish:4,8,3", controller="none") as lab:
        assert (controller(lab)["connected"], controller(lab)["notes"]) == (0, [])
        assert not lab.ping("h0", "h3", timeout=0.2).held
        path = lab.route("h0", "h3")
        for at, switch in enumerate(path[1:-1], 1):
            ports = {port.to: port.port for port in lab.stats().ports if port.switch == switch}
            pair = ports[path[at - 1]], ports[path[at + 1]]
            for here, there in (pair, pair[::-1]):
                flow = f"in_port={here},actions=output:{there}"
                assert (
                    lab.run(switch, ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch, flow]).returncode == 0
                )
        poll(lambda: lab.ping("h0", "h3", timeout=1.0).held, 30)  # the first requests may have failed for good
        shown = dcnlab("tables", lab.config.name, path[1]).stdout
        assert shown.endswith("2 installed, none by the lab's own controller\n")


def test_a_controller_set_by_hand_is_noticed() -> None:
    with Lab("jellyfish:4,8,3") as lab:
        assert (controller(lab)["controller"], controller(lab)["notes"]) == ("ours", [])
        target = f"tcp:127.0.0.1:{free_port()}"
        assert lab.run("s0", ["ovs-vsctl", "set-controller", "s0", target]).returncode == 0
        line = f"s0 has the controller {target}, set by hand, 0 of 1 connected"
        poll(lambda: line in controller(lab)["notes"], 10)
        assert f"{lab.config.name}: {line}" in dcnlab("ps").stdout
        assert controller(lab)["by_hand"] == {"s0": [target]}
        for names in (["h0", "s0"], ["s0", "s2"], ["s0"], ["s1", "s2"]):
            assert lab.fail(*names)["detection_ms"] is not None
            assert lab.restore(*names)["detection_ms"] is not None
        assert lab.run("s0", ["ovs-vsctl", "set-controller", "s0", "tcp:127.0.0.1:6653"]).returncode == 0
        poll(lambda: controller(lab)["connected"] == 8, 30)
        assert controller(lab)["notes"] == []
        poll(lambda: lab.tables("s0")["equal"], 10)
        assert lab.pingall().held
        assert lab.fail("s0", "s2")["flow_mods"] > 0


# --- applications -------------------------------------------------------------


def _tree() -> networkx.Graph[str]:
    """Three switches in a row, two hosts at each end."""
    graph: networkx.Graph[str] = networkx.Graph()
    for switch in ("a", "b", "c"):
        graph.add_node(switch, kind="switch")
    graph.add_edges_from([("a", "b"), ("b", "c")])
    for host, switch in (("w", "a"), ("x", "a"), ("y", "c"), ("z", "c")):
        graph.add_node(host, kind="server")
        graph.add_edge(host, switch)
    return graph


@pytest.mark.parametrize(
    ("topology", "no_loops"),
    [(_tree(), False), ("fattree:4", True), ("jellyfish:4,8,3", True)],
    ids=["tree", "fat tree", "jellyfish"],
)
def test_ryus_own_applications_instead_of_ours(topology: Any, no_loops: bool) -> None:
    apps = "app-only:ryu.app.simple_switch_13,ryu.app.ofctl_rest,ryu.app.rest_topology,ryu.app.ws_topology"
    with Lab(topology, controller=apps, no_loops=no_loops) as lab:
        switches = lab.info()["switches"]
        assert (controller(lab)["connected"], controller(lab)["library"]) == (switches, "ryu")
        poll(lambda: lab.pingall().held, 300)  # a busy application answers the first packets of a flow late
        assert sorted(rest(lab, "/stats/switches")) == list(range(1, switches + 1))
        links = directed_links(lab)
        poll(lambda: len(rest(lab, "/v1.0/topology/links")) == links, 30)
        with _websocket(lab, "/v1.0/topology/ws") as events:
            ports = lab.stats().ports
            switch_names = {port.switch for port in ports}
            ends = next((port.switch, port.to) for port in ports if port.to in switch_names)
            lab.fail(*ends)
            received = b""
            while b"event_link_delete" not in received:
                received += events.recv(1 << 16)
        poll(lambda: len(rest(lab, "/v1.0/topology/links")) == links - 2, 30)


def _websocket(lab: Lab, path: str) -> socket.socket:
    """A connection on which a server sends frames of RFC 6455."""
    host, port = controller(lab)["rest"].removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), 60)
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "", "",
    ]  # fmt: skip
    connection.sendall("\r\n".join(lines).encode())
    assert b" 101 " in connection.recv(1 << 16)
    return connection


@pytest.fixture(scope="module")
def beside() -> Iterator[Lab]:
    with Lab("fattree:4", controller="app:ryu.app.ofctl_rest") as lab:
        yield lab


def test_ofctl_rest_answers_while_our_tables_stay(beside: Lab) -> None:
    predicted = beside.tables("s0")["predicted"]
    assert len(rest(beside, "/stats/flow/1")["1"]) == sum(line.startswith("cookie") for line in predicted)
    added = {"dpid": 1, "cookie": 7, "priority": 60000, "match": {"in_port": 9}, "actions": []}
    rest(beside, "/stats/flowentry/add", added)
    poll(lambda: any("cookie=0x7" in line for line in beside.tables("s0")["installed"]), 10)
    assert beside.tables("s0")["equal"]
    beside.fail("s0", "s8")
    assert beside.pingall().held
    beside.restore("s0", "s8")
    assert beside.tables("s0")["equal"]
    assert any("cookie=0x7" in line for line in beside.tables("s0")["installed"])


def test_a_switch_that_reconnects_keeps_what_others_installed(beside: Lab) -> None:
    rest(beside, "/stats/flowentry/add", {"dpid": 3, "cookie": 8, "match": {"in_port": 9}, "actions": []})
    poll(lambda: any("cookie=0x8" in line for line in beside.tables("s2")["installed"]), 10)
    for target in ("tcp:127.0.0.1:1", "tcp:127.0.0.1:6653"):
        assert beside.run("s2", ["ovs-vsctl", "set-controller", "s2", target]).returncode == 0
        wanted = 19 if target.endswith(":1") else 20
        poll(lambda wanted=wanted: controller(beside)["connected"] == wanted, 30)  # type: ignore[misc]
    poll(lambda: beside.tables("s2")["equal"], 30)
    assert any("cookie=0x8" in line for line in beside.tables("s2")["installed"])


def test_explain_names_the_entry_of_an_application_that_overrides_ours(beside: Lab) -> None:
    before = beside.explain("h0", "h1")
    assert [step["node"] for step in before] == ["h0", "s0", "h1"]
    match = {"eth_type": 0x0800, "ipv4_dst": "10.0.0.2"}
    back = [{"type": "OUTPUT", "port": "IN_PORT"}]
    entry = {"dpid": 1, "cookie": 9, "priority": 60000, "match": match, "actions": back}
    rest(beside, "/stats/flowentry/add", entry)
    try:
        poll(lambda: any("cookie=0x9" in line for line in beside.tables("s0")["installed"]), 10)
        _, switch, last = beside.explain("h0", "h1")
        assert switch["entry"].startswith("cookie=0x9, priority=60000,ip,nw_dst=10.0.0.2 actions=IN_PORT")
        assert (switch["overrides"], last["node"]) == (before[1]["entry"], "h0")
        assert (last["delivered"], last["reason"]) == (False, "is not the destination")
    finally:
        rest(beside, "/stats/flowentry/delete_strict", entry)
    poll(lambda: beside.explain("h0", "h1") == before, 10)


def test_ps_names_the_controller_in_80_columns(beside: Lab) -> None:
    name = beside.config.name
    with closing(Terminal("env", "-u", "COLUMNS", *DCNLAB, "ps")) as terminal:
        terminal.resize(24, 80)
        terminal.wait_for(rf"{name}: controller app:ryu.app.ofctl_rest 20/20\r\n")
        assert re.search(rf"{name} +fattree:4 .* app 20/20 +running", terminal.shown), terminal.shown
    assert re.search(rf"{name} .* app:ryu.app.ofctl_rest 20/20 +running", dcnlab("ps").stdout)


def test_an_application_of_os_ken_beside_ours_discovers_every_link(tmp_path: Path) -> None:
    (tmp_path / "links.py").write_text(LINKS)
    with Lab("fattree:4", controller=f"app:{tmp_path}/links.py") as lab:
        assert (controller(lab)["library"], controller(lab)["rest"]) == ("os-ken", "")
        wanted = f"links discovered: {directed_links(lab)}\n"
        poll(lambda: wanted in dcnlab("logs", lab.config.name).stdout, 60)
        assert lab.tables("s0")["equal"]
        assert lab.pingall().held


def test_the_prompt_says_which_controller_it_is() -> None:
    script = "s3 ovs-vsctl set-controller s3 tcp:127.0.0.1:1\ncontroller\nexit\n"
    command = [sys.executable, "-m", "dcnlab.cli", "up", "jellyfish:4,8,3", "--controller", "none"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("*** controller none: 0 of 8 switches connected\n") == 2
    assert done.stdout.count("*** s3 has the controller tcp:127.0.0.1:1, set by hand, 0 of 1 connected\n") == 1
    assert done.stderr.startswith("note: nobody controls the switches: ")


# --- bad input ----------------------------------------------------------------


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_controller_is_one_line(text: str) -> None:
    done = dcnlab("up", "jellyfish:4,8,3", "--controller", text, "--test", "pingpairs")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"dcnlab: {WRONG[text]}\n", done.stderr), done.stderr


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_application_is_one_line_with_its_place(name: str, tmp_path: Path) -> None:
    text, code, line = BROKEN[name]
    (tmp_path / name).write_text(text)
    done = dcnlab("up", "jellyfish:4,8,3", "--controller", f"app:{tmp_path / name}", "--test", "pingpairs")
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(rf"dcnlab: {line}\n", done.stderr), done.stderr


@needs_testcontroller
def test_a_controller_of_openflow_1_0_is_refused_in_one_line() -> None:
    with learning_switch("-O", "OpenFlow10") as port:
        remote = f"remote:127.0.0.1:{port}"
        done = dcnlab("up", "jellyfish:4,8,3", "--controller", remote, "--test", "pingpairs")
    assert done.returncode == 1
    line = rf"dcnlab: {remote}: the controller speaks OpenFlow 1.0 only; the switches speak 1.3 \(log: .*\)\n"
    assert re.fullmatch(line, done.stderr), done.stderr


def test_a_server_that_speaks_no_openflow_is_refused_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        remote = f"remote:127.0.0.1:{port}"
        done = dcnlab("up", "bcube:2,1", "--scheme", "brp", "--controller", remote, "--test", "pingpairs")
        assert done.returncode == 1
        line = rf"dcnlab: {remote}: 0 of 4 switches are connected, .* \(it accepts connections, but does not "
        assert re.match(line, done.stderr), done.stderr
        assert len(done.stderr.splitlines()) == 1
        words = ["--controller", "app:ryu.app.ofctl_rest", "--rest-port", str(port), "--test", "pingpairs"]
        done = dcnlab("up", "bcube:2,1", "--scheme", "brp", *words)
    said = f"dcnlab: rest_port {port}: Address already in use: use another, or 0 for any free port\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_options_for_controllers_need_their_controller() -> None:
    for words, says in (
        (["--no-loops"], "no_loops is for other controllers: ours floods nothing"),
        (["--rest-port=8080"], "rest_port is for controller app:... and app-only:..."),
        (["--controller-ca=ca.pem"], "controller_ca is for controller ssl:HOST:PORT"),
    ):
        done = dcnlab("up", "fattree:4", *words, "--test", "pingpairs")
        assert (done.returncode, done.stderr) == (2, f"dcnlab: {says}\n")
    done = dcnlab("up", "torus:3x3", "--controller", "none", "--test", "pingpairs")
    assert (done.returncode, done.stderr) == (2, "dcnlab: torus:3x3 has no switches for a controller\n")

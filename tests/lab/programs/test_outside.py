"""A lab's openings to the outside, from namespaces that stand for the machine and its neighbours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.options import exposure
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.outside.networks import fabric_networks
from tests.capabilities import lacking
from tests.ordinary import script
from topos import registry

ROOT = Path(__file__).parents[3]

#: In a network namespace of its own, so that "the machine" has interfaces to give.
MACHINE = """\
import json, subprocess, sys, urllib.request
from dcnlab import Lab, UsageError

def sh(text):
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout

def refused(action, *words):
    try:
        action(*words)
    except UsageError as error:
        return str(error)

def pings(inside, address):
    return subprocess.run([*inside, "ping", "-c1", "-W5", address], stdout=subprocess.DEVNULL).returncode == 0

sh("mount -t tmpfs tmpfs /run; ip link set lo up; ip link add ext type bridge; ip link set ext up;"
   "ip address add 198.51.100.1/24 dev ext; ip netns add box;"
   "ip link add m0 type veth peer name m1 netns box; ip link set m0 up; ip -n box link set m1 up")
web = subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "198.51.100.1", "8000"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
box = ["ip", "netns", "exec", "box"]
found = {}
lab = Lab(sys.argv[1], scheme=sys.argv[2], nat=True, expose="h0:8000=8080").start()
fetch = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--retry", "30", "--retry-delay", "1"]
fetch.append("--retry-all-errors")
found["nat"] = lab.run("h3", [*fetch, "http://198.51.100.1:8000/"]).stdout
found["routes"] = lab.run("h0", ["ip", "route"]).stdout
found["pingall"] = lab.pingall().lost
words = ["exec", lab.config.name, "h0", "python3", "-m", "http.server", "8000"]
server = subprocess.Popen([sys.executable, "-m", "dcnlab", *words],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
found["expose"] = subprocess.run([*fetch, "http://127.0.0.1:8080/"], capture_output=True, text=True).stdout
found["listening"] = sh("ss -Hltn sport = 8080").split()[3]
server.terminate()
found["refused"] = [
    refused(lab.attach_interface, "s1", "none"), refused(lab.attach_interface, "s1", "ext"),
    refused(lab.attach_interface, "h1", "m0"), refused(lab.detach_interface, "m0"),
]
if sys.argv[3] == "plain":
    place = lab.attach_interface("s1", "m0", "h1")
    found["refused"].append(refused(lab.attach_interface, "s1", "ext", "h1"))
    sh(f"ip -n box link set m1 address {place['mac']}; ip -n box address add {place['ipv4']} dev m1")
    found["place"] = [pings(box, "10.0.0.1"), pings(box, "10.0.0.4"),
                      lab.run("h3", ["ping", "-c1", "-W5", "10.0.0.2"]).returncode == 0]
    found["during"] = "m0" in sh("ip -br link")
    found["info"] = lab.info()["outside"]["attached"]
    lab.detach_interface("m0")
    found["after"] = lab.pingall().lost
    found["returned"] = "UP" in sh("ip -br link show m0")
else:
    found["refused"].append(refused(lab.attach_interface, "s1", "m0", "h1"))
place = lab.attach_interface("s1", "m0")
found["free port"] = place["port"]
found["ofport"] = lab.run("s1", ["ovs-vsctl", "get", "Interface", "m0", "ofport"]).stdout.strip()
lab._reap() if sys.argv[3] == "plain" else lab.stop()   # its command ends: everything of it is killed
found["given back"] = "UP" in sh("ip -br link show m0")
web.terminate()
print(json.dumps(found))
"""


def machine(tmp_path: Path, *words: str) -> dict[str, Any]:
    """What the script found."""
    if os.geteuid():
        lacking("this test moves interfaces, which needs root")
    if shutil.which("slirp4netns") is None:
        lacking("slirp4netns is not installed")
    (tmp_path / "machine.py").write_text(MACHINE)
    done = subprocess.run(
        ["unshare", "-mn", sys.executable, str(tmp_path / "machine.py"), *words],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["nat"] == answer["expose"] == "200"
    assert answer["listening"] == "127.0.0.1:8080"
    assert "default via 100.64.0.2 dev outside" in answer["routes"]
    assert answer["pingall"] == []
    assert answer["refused"][0] == "there is no interface none: see `ip link`"
    assert answer["refused"][1].startswith("ext has the address 198.51.100.1, so this machine uses it")
    assert answer["refused"][2] == "h1 is a server: interfaces are attached to switches"
    assert answer["refused"][3] == "m0 is not attached to a switch of this lab"
    assert answer["ofport"] == str(answer["free port"])
    assert answer["given back"]
    return answer


@pytest.mark.lab
def test_a_machine_takes_the_place_of_a_plain_host(tmp_path: Path) -> None:
    answer = machine(tmp_path, "jellyfish:3,4,2", "shortest", "plain")
    assert answer["place"] == [True, True, True]
    assert not answer["during"]
    assert answer["info"][0]["interface"] == "m0"
    assert answer["info"][0]["host"] == "h1"
    assert answer["after"] == []
    assert answer["returned"]
    assert answer["refused"][4] == "the place of h1 is taken already"
    assert answer["free port"] == 4


@pytest.mark.lab
def test_relaying_servers_reach_the_outside(tmp_path: Path) -> None:
    answer = machine(tmp_path, "bcube:2,1", "brp", "relaying")
    assert answer["refused"][4] == "the servers of bcube:2,1 relay packets, so no machine can take a place"
    assert "10.0.0.0/8 dev dcn0" in answer["routes"]


#: A machine at a free port, where others or nobody control the switches.
OTHERS = """\
import subprocess, sys
from dcnlab import Lab

def sh(text):
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout

def pings(timeout=5):
    words = ["ip", "netns", "exec", "box", "ping", "-c1", f"-W{timeout}", "10.0.0.1"]
    return subprocess.run(words, stdout=subprocess.DEVNULL).returncode == 0

sh("mount -t tmpfs tmpfs /run; ip link set lo up; ip netns add box;"
   "ip link add m0 type veth peer name m1 netns box; ip link set m0 up; ip -n box link set m1 up;"
   "ip -n box address add 10.0.0.99/8 dev m1")
with Lab("fattree:2", controller="app-only:ryu.app.simple_switch_13", no_loops=True) as lab:
    lab.attach_interface("s0", "m0")
    assert any([pings() for _ in range(3)]), "a learning switch learns the new port"
    assert "m0" not in sh("ip -br link")
    lab.detach_interface("m0")
    assert not pings(1)
with Lab("fattree:2", controller="none") as lab:
    port = lab.attach_interface("s0", "m0")["port"]
    assert not pings(1)
    (host,) = [each.port for each in lab.stats().ports if (each.switch, each.to) == ("s0", "h0")]
    for here, there in ((port, host), (host, port)):
        flow = f"in_port={here},actions=output:{there}"
        assert lab.run("s0", ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", "s0", flow]).returncode == 0
    assert any([pings() for _ in range(3)])
    assert lab.info()["outside"]["attached"][0]["interface"] == "m0"
assert "UP" in sh("ip -br link show m0"), "given back when the lab ended"
"""


@pytest.mark.lab
def test_an_interface_is_a_port_for_other_controllers_and_for_none(tmp_path: Path) -> None:
    if os.geteuid():
        lacking("this test moves interfaces, which needs root")
    (tmp_path / "others.py").write_text(OTHERS)
    done = subprocess.run(
        ["unshare", "-mn", sys.executable, str(tmp_path / "others.py")],
        capture_output=True, text=True, check=False, timeout=240, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


ORDINARY = """\
from dcnlab import Lab, UsageError
with Lab("bcube:2,1", scheme="brp", nat=True, expose="h0:8000=8080") as lab:
    fetch = ["curl", "-s", "-o", "/dev/null", "--retry", "30", "--retry-delay", "1", "--retry-all-errors"]
    print(lab.run("h3", [*fetch, "-w", "%{http_code}", "http://198.51.100.1:8000/"]).stdout)
    try:
        lab.attach_interface("s0", "m0")
    except UsageError as error:
        print(error)
"""


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="the test enters other users' namespaces")
def test_an_ordinary_user_opens_a_lab_but_moves_no_interface(open_path: Path) -> None:
    if shutil.which("slirp4netns") is None:
        lacking("slirp4netns is not installed")
    (open_path / "ordinary.py").write_text(ORDINARY)
    web = f"{sys.executable} -m http.server --bind 198.51.100.1 8000 >/dev/null 2>&1 & trap 'kill %1' EXIT"
    network = (
        "ip link set lo up; ip link add ext type bridge; ip link set ext up; ip link add m0 type veth;"
        " ip address add 198.51.100.1/24 dev ext"
    )
    user = script(open_path).replace("exec env", f"{network}\n{web}\nenv PYTHONPATH={ROOT}")
    done = subprocess.run(
        ["unshare", "-mn", "bash", "-c", user, "bash", sys.executable, str(open_path / "ordinary.py")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reached, refusal = done.stdout.splitlines()
    assert reached == "200"
    assert refusal == "moving m0, an interface of this machine, needs root: launch the lab with sudo"


def test_exposed_ports_are_read() -> None:
    assert exposure.parse("h0:80=8080, h1:22=2222") == (
        exposure.Exposure("h0", 80, 8080),
        exposure.Exposure("h1", 22, 2222),
    )
    assert list(exposure.notes(True, "h0:80=8080")) == [
        "nat: hosts reach what this machine reaches, but not its loopback address",
        "expose: 127.0.0.1:8080 is port 80 of h0",
    ]
    assert list(exposure.notes(False, "")) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"expose": "h0"}, "expose takes SERVER:PORT=LOCAL_PORT, such as h0:80=8080, not 'h0'"),
        ({"expose": "h0:80=0"}, "0 is not a port"),
        ({"expose": "h0:80=99999"}, "99999 is not a port"),
        ({"expose": "h0:80=8080,h1:80=8080"}, "local port 8080 can be only one port"),
        ({"expose": "h9:80=8080"}, "expose: "),
        ({"expose": "s0:80=8080"}, "expose: "),
        ({"nat": True, "autoconfigure": True}, "nat needs servers that have their addresses"),
    ],
)
def test_wrong_openings_are_one_line(options: dict[str, Any], text: str) -> None:
    topology, scheme = ("clot:2x2", "pow") if "autoconfigure" in options else ("bcube:2,1", "brp")
    with pytest.raises(OptionError, match=text) as raised:
        LabConfig.of(topology, scheme, **options).validate()
    assert "\n" not in str(raised.value)


@pytest.mark.lab
def test_a_taken_local_port_ends_the_launch_with_one_line() -> None:
    import socket

    from dcnlab.lab.client import Lab

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen at 127.0.0.1:{port}: Address already in use"):
            Lab("bcube:2,1", "brp", expose=f"h0:80={port}").start()


@pytest.mark.parametrize(("topology", "scheme"), [("bcube:2,1", "brp"), ("clot:4x4", "pow")])
def test_the_routes_of_the_fabric_hold_all_servers(topology: str, scheme: str) -> None:
    import ipaddress

    from addressing.registry import bind

    bound = bind(scheme, registry.fabric(topology))
    networks = fabric_networks(bound)
    for server in range(bound.fabric.servers):
        assert any(ipaddress.IPv4Address(bound.ipv4(server)) in network for network in networks)
    assert sum(network.num_addresses for network in networks) <= max(1 << 24, bound.fabric.servers)


WITHOUT_FILES = """\
import os, resource, socket, threading
from dcnlab.lab.outside import accepting

listener = socket.create_server(("127.0.0.1", 0))
clients = [socket.socket() for _ in range(2)]
failed, descriptors = threading.Event(), []
accepting._log.warning = lambda *_: failed.set()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        descriptors.append(os.dup(0))
except OSError:
    pass
def carry(connection):
    with connection:
        connection.sendall(b"served")
threading.Thread(target=accepting.serve, args=(listener, carry), daemon=True).start()
clients[0].connect(listener.getsockname())
assert failed.wait(60)
for descriptor in descriptors:
    os.close(descriptor)
clients[1].connect(listener.getsockname())
assert [client.recv(100) for client in clients] == [b"served"] * 2
"""


def test_an_exposed_port_goes_on_after_files_were_short() -> None:
    words = [sys.executable, "-c", WITHOUT_FILES]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr

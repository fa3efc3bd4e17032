"""Stock Mininet with dcnlab's hosts and controller: `mn --custom`, and a user's own script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dcnlab.lab.errors import LabError
from dcnlab.lab.mininet import cpu_share
from tests import private_openvswitch

ROOT = Path(__file__).resolve().parents[3]

#: What a user writes; the result of each check is printed as JSON.
SCRIPT = """\
import json
from functools import partial
from mininet.link import TCLink
from mininet.net import Mininet
from dcnlab.mn import FabricTopo, RelayHost, SchemeController, SchemeSwitch

net = Mininet(
    topo=FabricTopo("bcube:2,1"), host=partial(RelayHost, privateDirs=["/mnt"]), switch=SchemeSwitch,
    controller=SchemeController("brp"), link=partial(TCLink, bw=50), waitConnected=True,
)
net.start()
h0, h1, h3 = net.get("h0", "h1", "h3")
found = {"addresses": [host.IP() for host in net.hosts], "lost": net.pingAll()}
found["traceroute"] = h0.cmd("traceroute -n -q1 10.0.0.4 | awk 'NR > 1 {print $2}'").split()
h0.cmd("touch /mnt/mine")
found["private"] = [host.cmd("ls /mnt").split() for host in (h0, h1)]
found["rate"] = "rate 50Mbit" in h0.cmd("tc class show dev h0-eth1")
h3.cmd("iperf3 --server --one-off --daemon --pidfile /mnt/pid")
while not h3.cmd("ss -Hltn sport = 5201").strip():
    pass
report = h0.popen("iperf3 --client 10.0.0.4 --time 1 --json", shell=True).communicate()[0]
found["mbps"] = json.loads(report)["end"]["sum_received"]["bits_per_second"] / 1e6
net.configLinkStatus("h0", "s0", "down")
for _ in range(50):
    found["repaired"] = "1 received" in h0.cmd("ping -c1 -W2 10.0.0.2")
    if found["repaired"]:
        break
net.configLinkStatus("h0", "s0", "up")
net.stop()
print(json.dumps(found))
"""


@pytest.mark.lab
def test_all_servers_of_a_bcube_answer_on_stock_mininet() -> None:
    words = (
        "--custom dcnlab/mn.py --topo bcube,4,1 --switch ovs,datapath=user --host relay --controller scheme,brp"
    )
    mn = private_openvswitch.program("venv")
    done = private_openvswitch.run(mn, *words.split(), "--test", "pingall")
    assert "*** Results: 0% dropped (240/240 received)" in done.stdout + done.stderr, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["lo"]


@pytest.mark.lab
@pytest.mark.parametrize("file", ["dcnlab/mn.py", "topos/mn.py"])
def test_debians_mininet_finds_the_projects_packages(file: str) -> None:
    words = (
        f"--custom {file} --topo bcube,2,1 --switch scheme --host relay --controller scheme,brp --test pingall"
    )
    done = private_openvswitch.run(private_openvswitch.program("debian"), *words.split())
    assert "*** Results: 0% dropped (12/12 received)" in done.stdout + done.stderr, done.stderr


@pytest.mark.lab
def test_plain_hosts_of_mininet_and_parameters_of_schemes() -> None:
    words = "--custom dcnlab/mn.py --topo jellyfish,3,4,2 --switch scheme --mac --controller scheme,ksp,k=2"
    done = private_openvswitch.run(private_openvswitch.program("venv"), *words.split(), "--test", "pingall")
    assert "*** Results: 0% dropped (12/12 received)" in done.stdout + done.stderr, done.stderr


@pytest.mark.lab
def test_a_script_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = private_openvswitch.run(sys.executable, str(tmp_path / "script.py"))
    assert done.returncode == 0, done.stderr
    printed, *left = done.stdout.splitlines()
    answer = json.loads(printed)
    assert answer["addresses"] == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    assert answer["lost"] == 0
    assert answer["traceroute"][-1] == "10.0.0.4"
    assert len(answer["traceroute"]) == 2, "a relay is a hop"
    assert answer["private"] == [["mine"], []]
    assert answer["rate"]
    assert 0 < answer["mbps"] < 50, "TCLink limits the links of relays"
    assert answer["repaired"]
    assert [line.split()[0] for line in left] == ["lo"], "interfaces or bridges were left behind"


#: The machine, in whose place a namespace stands: what is outside, a web server there, and a file of Mininet's.
OUTSIDE = """\
mount -t tmpfs tmpfs /etc/network && touch /etc/network/interfaces
set -e
ip netns add world
ip link add uplink type veth peer name web netns world
ip link set uplink up
ip address add 198.51.100.2/24 dev uplink
ip -n world link set web up
ip -n world address add 198.51.100.1/24 dev web
mkdir /run/web && head -c 3000000 /dev/zero > /run/web/file
ip netns exec world "$1" -m http.server --bind 198.51.100.1 --directory /run/web 8000 >/dev/null 2>&1 &
trap 'kill $!' EXIT
shift; "$@"
"""
NAT_SCRIPT = """\
import json
from mininet.net import Mininet
from dcnlab.mn import FabricTopo, RelayHost, SchemeController, SchemeSwitch

found = []
for topology, scheme, where in (("torus:2x2", "shortest", "h2"), ("jellyfish:3,4,2", "shortest", None)):
    controller = SchemeController(scheme)
    net = Mininet(topo=FabricTopo(topology), host=RelayHost, switch=SchemeSwitch, controller=controller)
    net.addNAT(connect=net.get(where) if where else True).configDefault()
    net.start()
    fetch = "curl -s -o /dev/null -w '%{size_download}' --retry 9 --retry-delay 1 --retry-all-errors"
    h1 = net.get("h1")
    fetched = h1.cmd(fetch, "http://198.51.100.1:8000/file")
    trace = h1.cmd("traceroute -n -q1 198.51.100.1 | awk 'NR > 1 {print $2}'").split()
    found.append([fetched, trace, net.pingAll(timeout=10)])
    net.stop()
print(json.dumps(found))
"""


@pytest.mark.lab
def test_hosts_reach_what_is_behind_a_nat_node(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(NAT_SCRIPT)
    words = ["bash", "-c", OUTSIDE, "bash", sys.executable]
    done = private_openvswitch.run(*words, sys.executable, str(tmp_path / "script.py"))
    assert done.returncode == 0, done.stderr
    printed, *left = done.stdout.splitlines()
    assert json.loads(printed) == [
        ["3000000", ["10.0.0.3", "10.0.0.5", "198.51.100.1"], 0.0],
        ["3000000", ["10.0.0.1", "10.0.0.5", "198.51.100.1"], 0.0],
    ]
    assert [line.split("@")[0].split()[0] for line in left] == ["lo", "uplink"]


@pytest.mark.lab
def test_the_nat_node_of_mininets_command_line() -> None:
    """The NAT node is pinged as well: it is one of Mininet's hosts."""
    words = "--topo bcube,2,1 --switch scheme --host relay --controller scheme,brp --nat --test pingall"
    mn = [private_openvswitch.program("venv"), "--custom", "dcnlab/mn.py", *words.split()]
    done = private_openvswitch.run("bash", "-c", OUTSIDE, "bash", sys.executable, *mn)
    assert "*** Results: 0% dropped (20/20 received)" in done.stdout + done.stderr, done.stderr


@pytest.mark.lab
def test_the_script_of_the_document(tmp_path: Path) -> None:
    """On a smaller fabric, with the userspace datapath."""
    text = (ROOT / "docs" / "mininet.md").read_text()
    lines = re.findall(r"^    (from .*|net.*)$", text, re.MULTILINE)
    script = (
        "\n".join(lines).replace("bcube:4,1", "bcube:2,1").replace("net.pingAll()", "assert net.pingAll() == 0")
    )
    assert "RelayHost, " in script
    script = script.replace("RelayHost, c", "RelayHost, switch=SchemeSwitch, c")
    (tmp_path / "script.py").write_text(f"from dcnlab.mn import SchemeSwitch\n{script}\n")
    done = private_openvswitch.run(sys.executable, str(tmp_path / "script.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "lo"


@pytest.mark.lab
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--topo bcube,2,1 --host relay --controller scheme,pow", "pow does not fit bcube:2,1"),
        ("--topo bcube,2,1 --controller scheme,brp", "use --host relay, or host=RelayHost"),
        (
            "--topo linear,2 --controller scheme,brp",
            "controller c0 has no fabric: use a topology of dcnlab/mn.py",
        ),
        ("--topo bcube,2,1 --host relay --controller scheme,nothing", "nothing"),
        (
            "--topo clot,2x2 --host relay --controller scheme,pow --nat",
            "nat0: the servers' addresses are in 0.0.0.0/4, not in 10.0.0.0/8: use another scheme",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(words: str, text: str) -> None:
    mn = private_openvswitch.program("venv")
    words = f"--switch scheme {words}"
    done = private_openvswitch.run(
        "bash", "-c", OUTSIDE, "bash", sys.executable, mn, "--custom", "dcnlab/mn.py", *words.split()
    )
    (line,) = [line for line in done.stderr.splitlines() if "Error: " in line]
    assert text in line
    assert "Traceback" not in done.stderr


def test_the_program_says_where_the_file_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dcnlab.cli", "mn-file"], capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == ROOT / "dcnlab" / "mn.py"


@pytest.mark.parametrize(
    ("fraction", "processors", "wanted"),
    [(0.5, 2, (100_000, 100_000)), (0.1, 4, (40_000, 100_000)), (0.001, 2, (1_000, 500_000))],
)
def test_a_share_is_a_fraction_of_all_processors(
    fraction: float, processors: int, wanted: tuple[int, int]
) -> None:
    assert cpu_share.quota(fraction, processors) == wanted


@pytest.mark.lab
def test_a_share_is_given_or_refused_in_one_line() -> None:
    words = "--topo bcube,2,1 --switch scheme --host relay,cpu=.5 --controller scheme,brp --test pingall"
    mn = private_openvswitch.program("venv")
    done = private_openvswitch.run(mn, "--custom", "dcnlab/mn.py", *words.split())
    if cpu_share.lacking(cpu_share.root(), ["cpu"]):
        (line,) = [line for line in done.stderr.splitlines() if "Error: " in line]
        assert "cgroup v2 has no cpu here" in line
        assert "Traceback" not in done.stderr
    else:
        assert "*** Results: 0% dropped (12/12 received)" in done.stdout + done.stderr, done.stderr


def test_without_cgroup_v2_a_share_is_one_line(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n")
    with pytest.raises(LabError, match="needs cgroup v2, which is not mounted"):
        cpu_share.root(mounts)
    mounts.write_text(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert cpu_share.root(mounts) == tmp_path

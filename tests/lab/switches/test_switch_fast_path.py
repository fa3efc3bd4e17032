"""With the switch fast path frames go where they go without it: random entries and frames, changes of tables,
failures, captures, rate limits, daemons that start again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scipy.stats import chisquare

from dcnlab import Lab, LabError, UsageError
from tests.lab.emulation.test_receive_buffers import _RESTART
from tests.ordinary import script

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no fast path in any lab"),
]

_ROOT = Path(__file__).parents[3]
#: One switch of interest, s0: its hosts, and the port to the other switch.
TOPOLOGY, HOSTS = "hypercube:1,hosts=3", ("h0", "h1", "h2")
_ENTRIES, _FRAMES = 30, 400


@pytest.fixture(scope="module")
def two_labs() -> Iterator[tuple[Lab, Lab]]:
    """One without the fast path and one with it, at once: a test that compares them needs no other test."""
    with (
        Lab(TOPOLOGY, "shortest", datapath="userspace", switch_fast_path="off") as plain,
        Lab(TOPOLOGY, "shortest", datapath="userspace", switch_fast_path="on") as fast,
    ):
        assert [lab.info()["switch_fast_path"] for lab in (plain, fast)] == ["off", "on"]
        yield plain, fast


def random_entries(rng: random.Random, count: int) -> list[str]:
    """Entries with distinct priorities, as ``ovs-ofctl`` reads them; few bits, so that frames meet many."""
    entries = []
    for number in range(count):
        actions = _actions(rng)
        match = _match(rng, ip="ttl" in actions, tagged=any(word in actions for word in _NEED_A_TAG))
        entries.append(f"priority={100 + number},{match} actions={actions}")
    return entries


def _match(rng: random.Random, *, ip: bool, tagged: bool) -> str:
    parts = []
    if tagged or rng.random() < 0.2:
        parts.append(rng.choice(_TAGGED) if tagged else rng.choice(("dl_vlan=5", "vlan_vid=0")))
    if ip:
        parts.append("ip")
    elif rng.random() < 0.3:
        parts.append(rng.choice(("ip", "arp", "ip,nw_dst=10.1.0.0/16", "ip,nw_dst=10.0.0.0/255.0.0.3", "tcp")))
    if rng.random() < 0.8:
        parts.append(f"dl_dst=02:00:00:00:00:0{rng.randrange(8)}/ff:00:00:00:00:0{rng.choice('37')}")
    if rng.random() < 0.3:
        parts.append(f"dl_src=06:00:00:00:00:0{rng.randrange(4)}/ff:00:00:00:00:03")
    if rng.random() < 0.4:
        parts.append(f"in_port={rng.randrange(1, 4)}")
    return ",".join(parts)


def _actions(rng: random.Random) -> str:
    port = rng.randrange(1, 4)
    return rng.choice((
        f"output:{port}", f"output:{port}", f"output:{port}", "drop", "IN_PORT", f"output:{port},output:4",
        f"set_field:0->in_port,output:{port}", f"set_field:0a:00:00:00:00:0{port}->eth_dst,output:{port}",
        f"set_field:0a:00:00:00:00:0{port}->eth_src,set_field:0e:01:00:00:00:00->eth_dst,output:{port}",
        f"push_vlan:0x8100,output:{port}", f"push_vlan:0x88a8,set_field:4103->vlan_vid,output:{port},output:4",
        f"pop_vlan,output:{port}", f"set_field:4099->vlan_vid,output:{port}",
        f"set_field:5->vlan_pcp,output:{port}", f"group:{rng.randrange(1, 4)}", f"group:{rng.randrange(4, 15)}",
        f"push_vlan:0x8100,set_field:4103->vlan_vid,set_field:3->vlan_pcp,output:{port}",
        f"dec_ttl,output:{port}",
        f"dec_ttl,output:{port},set_field:0e:00:00:00:00:0{port}->eth_dst,output:4,IN_PORT",
        f"output:{port},set_field:0a:00:00:00:00:0{port}->eth_src,output:{port % 3 + 1},IN_PORT",
    ))  # fmt: skip


#: Matches of tagged frames, and actions that Open vSwitch allows only with such a match.
_TAGGED = "vlan_vid=0x1000/0x1000", "dl_vlan=5", "dl_vlan=5,dl_vlan_pcp=3", "vlan_vid=0x1001/0x1001"
_NEED_A_TAG = "pop_vlan", "set_field:4099->vlan_vid,output", "set_field:5->vlan_pcp"


def random_frame(rng: random.Random, number: int) -> bytes:
    """A frame with its number at the end."""
    target, source = f"02000000000{rng.randrange(8)}", f"06000000000{rng.randrange(4)}"
    tail = b"frame %05d" % number
    kind = rng.choice(("0800", "0800", "0800", "0806", "88b5", "8100"))
    tag = rng.choice(("", "", "81000005", "81006005", "88a80004", "81001005")) if kind != "8100" else ""
    body = rng.randbytes(46)
    if kind == "0800":
        usual = (0x45, 0), (0x45, 0), (0x45, 0), (0x45, 7)
        first, extra = rng.choice((*usual, (0x46, 0), (0x45, -30), (0x45, 300), (0x65, 0)))
        length = max(0, 20 + 26 + len(tail) - extra)
        address = bytes((10, rng.randrange(2), 0, rng.randrange(4)))
        body = bytes((first, 0)) + length.to_bytes(2, "big") + bytes(4)
        body += bytes((rng.choice((0, 1, 2, 64, 64, 255)), 0x3D)) + rng.randbytes(2) + bytes(4) + address
        body += rng.randbytes(26)
    if kind == "8100":
        body = b"\x00\x05\x08\x00" + body
    return bytes.fromhex(target + source + tag + kind) + body + tail


def exchange(lab: Lab, frames: list[tuple[str, bytes]], folder: Path) -> list[list[str]]:
    """Send frames from hosts; for each host what it received, in hexadecimal, in any order."""
    script = folder / "exchange.py"
    script.write_text(_EXCHANGE)
    words = json.dumps([(host, frame.hex()) for host, frame in frames])
    (folder / "frames.json").write_text(words)
    command = ["env", f"PYTHONPATH={_ROOT}", sys.executable, "-P", str(script), str(folder / "frames.json")]
    done = lab.run("s0", command)
    assert done.returncode == 0, done.stderr
    return [sorted(frames) for frames in json.loads(done.stdout)]


#: Frames to the last address leave by all ports, which Open vSwitch does itself: when they have come by
#: all ports, twice since it reorders frames that it reads together, all frames sent before have been forwarded.
_MARK = "0e" * 6
_EXCHANGE = f"""
import json, socket, struct, sys
from hostagent.runtime.devices import inside
hosts = {HOSTS!r}
sockets = dict()
for host in hosts:
    with inside("/run/netns/" + host):
        sockets[host] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sockets[host].setsockopt(263, 23, 1)
        sockets[host].setsockopt(263, 8, 1)  # PACKET_AUXDATA
        sockets[host].setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
        sockets[host].bind((host + "-eth1", 3))
for host, frame in json.load(open(sys.argv[1])):
    sockets[host].send(bytes.fromhex(frame))
received = {{host: [] for host in hosts}}
for turn in range(2):
    for host in hosts:
        sockets[host].send(bytes.fromhex("{_MARK}06000000000088b5") + bytes(46) + host.encode())
    for host in hosts:
        marks = set()
        while len(marks) < len(hosts):
            data, extra, _, _ = sockets[host].recvmsg(65536, 256)
            for _, _, beside in extra:  # the kernel keeps the tag beside the frame
                status, tag, kind = struct.unpack("=I12xHH", beside[:20])
                if status & 16:
                    data = data[:12] + struct.pack(">HH", kind if status & 64 else 0x8100, tag) + data[12:]
            if data.startswith(bytes.fromhex("{_MARK}")):
                marks.add(data[-2:])
            elif b"frame " in data:
                received[host].append(data.hex())
print(json.dumps(list(received.values())))
"""


def set_entries(lab: Lab, entries: list[str]) -> None:
    """Replace all entries of s0, and wait until the kernel has them as well."""
    last = f"priority=60000,dl_dst={':'.join(['0e'] * 6)} actions=note:00,output:1,output:2,output:3,IN_PORT"
    lab.run("s0", ["ovs-ofctl", "-O", "OpenFlow13", "del-flows", "s0"])
    for group in _GROUPS:
        lab.run("s0", ["ovs-ofctl", "-O", "OpenFlow13", "--may-create", "mod-group", "s0", group])
    lab.tables("s0")  # an entry that comes back begins to count anew
    done = lab.run("s0", ["bash", "-c", _ADD, "bash", *entries, last])
    assert done.returncode == 0, done.stderr
    lab.run("s0", ["ovs-appctl", "revalidator/purge"])
    lab.tables("s0")


_ADD = """printf '%s\\n' "$@" | ovs-ofctl -O OpenFlow13 add-flows s0 -"""

#: Groups with one choice, or whose choices are the same, and such as the kernel leaves to the switch.
_GROUPS = [
    "group_id=1,type=indirect,bucket=output:1",
    "group_id=2,type=select,bucket=set_field:0a:00:00:00:00:02->eth_dst,output:2",
    "group_id=3,type=select,bucket=weight:7,output:3,bucket=weight:2,output:3,bucket=weight:0,output:1",
    "group_id=4,type=all,bucket=output:1,bucket=output:2",
    "group_id=5,type=ff,bucket=watch_port:4,output:3",
    "group_id=6,type=select,bucket=push_vlan:0x8100,output:2",
    "group_id=7,type=all,bucket=set_field:0a:00:00:00:00:02->eth_dst,output:2,bucket=output:1,bucket=output:3",
    "group_id=8,type=ff,bucket=watch_port:4,output:2,bucket=watch_port:1,output:3",
    "group_id=9,type=all,bucket=set_field:0->in_port,output:1,bucket=output:2",
    "group_id=10,type=ff,bucket=watch_group:8,output:1,bucket=watch_port:1,output:2",
    "group_id=11,type=ff,bucket=watch_group:12,output:1,bucket=watch_port:1,watch_group:12,output:3",
    "group_id=12,type=ff,bucket=watch_port:77,output:1",
    "group_id=13,type=indirect,bucket=output:2,set_field:0a:00:00:00:00:02->eth_dst",
    "group_id=14,type=indirect,bucket=pop_vlan,output:3",
]


@pytest.mark.parametrize("seed", range(4))
def test_random_frames_go_where_open_vswitch_sends_them(
    two_labs: tuple[Lab, Lab], seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    entries = random_entries(rng, _ENTRIES)
    frames = [(rng.choice(HOSTS), random_frame(rng, number)) for number in range(_FRAMES)]
    for lab in two_labs:
        set_entries(lab, entries)
    expected, carried = (exchange(lab, frames, tmp_path) for lab in two_labs)
    assert sum(map(len, expected)) > _FRAMES / 4
    assert carried == expected
    assert sum(two_labs[1].tables("s0")["by_kernel"]) > _FRAMES / 20
    plain, fast = map(counted, two_labs)
    assert sum(packets for packets, _ in plain.values()) > _FRAMES / 2
    assert fast == plain


def counted(lab: Lab) -> dict[tuple[int, str], tuple[int, int]]:
    """Packets and bytes of each entry of s0, but for that of the marks, when Open vSwitch has added up."""
    lab.run("s0", ["ovs-appctl", "revalidator/purge"])
    entries = lab.flows("s0")["flows"]
    return {
        (one["priority"], one["match"]): (one["packets"], one["bytes"])
        for one in entries
        if one["priority"] != 60000
    }


def test_flows_counts_pings_that_the_kernel_forwards(two_labs: tuple[Lab, Lab]) -> None:
    """Whichever options an entry has beside what it matches, and in whichever words it is printed."""
    entries = [
        "priority=5,in_port=1,ip actions=set_field:00:00:00:00:02:01->eth_dst,output:2",
        "hard_timeout=600,send_flow_rem,priority=5,in_port=2,dl_type=0x0800"
        " actions=set_field:00:00:00:00:01:01->eth_dst,output:1",
        "in_port=1,dl_type=0x88b5 actions=output:3",
        "priority=65535,cookie=2,arp actions=CONTROLLER:65535",
    ]
    for lab in two_labs:
        set_entries(lab, entries)
        before = counted(lab)
        assert lab.ping("h0", "h1").held
        done = lab.run("h0", ["ping", "-q", "-c", "20", "-i", ".01", "10.0.0.2"])
        assert done.returncode == 0, done.stdout
        now = counted(lab)
        grown = {key: tuple(a - b for a, b in zip(now[key], before[key], strict=True)) for key in now}
        assert all(grown[5, f"ip,in_port={port}"][0] >= 20 for port in (1, 2)), grown
        assert all(grown[5, f"ip,in_port={port}"][1] >= 20 * 98 for port in (1, 2)), grown
    assert sum(two_labs[1].tables("s0")["by_kernel"]) >= 20


def test_an_entry_that_is_used_does_not_expire(two_labs: tuple[Lab, Lab]) -> None:
    """And is gone when it is not used any more, with all that it has counted before."""
    lab, there = two_labs[1], "priority=5,ip,in_port=1 actions=set_field:00:00:00:00:02:01->eth_dst,output:2"
    back = "priority=5,ip,in_port=2 actions=set_field:00:00:00:00:01:01->eth_dst,output:1"
    set_entries(lab, [f"idle_timeout=2,{there}", back])
    before = sum(lab.tables("s0")["by_kernel"])
    done = lab.run("h0", ["ping", "-q", "-c", "60", "-i", ".1", "10.0.0.2"])
    assert " 0% packet loss" in done.stdout, done.stdout
    assert counted(lab)[5, "ip,in_port=1"][0] == 60
    assert sum(lab.tables("s0")["by_kernel"]) - before >= 2 * 60 * 0.7
    end = time.monotonic() + 60
    while (5, "ip,in_port=1") in counted(lab):
        assert time.monotonic() < end


def test_failover_follows_the_state_of_ports(two_labs: tuple[Lab, Lab], tmp_path: Path) -> None:
    """Group 8 sends to h1 while the link to s1 is up, and to h2 otherwise."""
    frames = [("h0", _ip_frame(number)) for number in range(60)]
    for lab in two_labs:
        for change, expected in ((None, [0, 60, 0]), (lab.fail, [0, 0, 60]), (lab.restore, [0, 60, 0])):
            if change is not None:
                change("s0", "s1")
            set_entries(lab, ["priority=100,ip actions=group:8"])
            assert list(map(len, exchange(lab, frames, tmp_path))) == expected
            assert sum(lab.tables("s0").get("by_kernel", [60])) == 60


def _ip_frame(number: int) -> bytes:
    """An IPv4 frame with its number at the end, without payload otherwise."""
    tail = b"frame %05d" % number
    length = (20 + len(tail)).to_bytes(2, "big")
    header = b"\x45\x00" + length + bytes(4) + b"\x40\x3d" + bytes(2) + bytes((10, 0, 0, 1, 10, 0, 0, 2))
    return bytes.fromhex("0200000000020600000000010800") + header + tail


def test_what_changes_while_frames_flow_holds_at_once() -> None:
    with Lab(TOPOLOGY, "shortest", datapath="userspace", switch_fast_path="on") as lab:
        assert lab.pingall().lost == []
        before = sum(lab.tables("s0")["by_kernel"])
        assert before >= 6
        drop = "priority=50000,ip actions=drop"
        lab.run("s0", ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", "s0", drop])
        assert sum(lab.tables("s0")["by_kernel"]) == before  # waits until the kernel knows
        assert not lab.ping("h0", "h1", timeout=0.5).held
        lab.run("s0", ["ovs-ofctl", "-O", "OpenFlow13", "--strict", "del-flows", "s0", "priority=50000,ip"])
        lab.tables("s0")
        assert lab.pingall().lost == []
        assert sum(lab.tables("s0")["by_kernel"]) >= before + 6


LABS = [
    ("bcube:3,1", "brp", {"fast_path": "on"}),
    ("dcell:3,1", "dfr", {}),
    ("fattree:4", "ecmp", {}),
    ("smallworld:4x4,clusters=2x2", "hrsw", {}),
    ("mdcube:2,1", "dcube", {"offloads": False}),
]


@pytest.mark.parametrize(("topology", "scheme", "options"), LABS)
def test_all_pairs_answer_while_links_fail(topology: str, scheme: str, options: dict[str, object]) -> None:
    with Lab(topology, scheme, datapath="userspace", switch_fast_path="on", **options) as lab:
        assert lab.info()["switch_fast_path"] == "on"
        fabric = lab.config.validate().fabric
        switches = [fabric.name(node) for node in range(fabric.servers, fabric.size)]
        linked = [n for n in fabric.neighbours(fabric.servers) if fabric.relaying or n > fabric.servers]
        other = fabric.name(linked[0])
        assert lab.pingall().lost == []
        lab.fail(switches[0], other)
        assert lab.pingall().lost == []
        lab.restore(switches[0], other)
        assert lab.pingall().lost == []
        tables = [lab.tables(switch) for switch in switches]
        assert all(table["equal"] for table in tables)
        assert sum(sum(table["by_kernel"]) for table in tables) > 0


#: Datagrams of each of 400 flows, which differ in a port only.
_PER_FLOW = 5
_FLOWS = f"""
import socket
for port in range(20000, 20400):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("", port))
        for _ in range({_PER_FLOW}):
            sender.sendto(b"flow", ("10.0.0.16", 9))
"""


def test_groups_spread_flows_over_all_paths_and_keep_each_together() -> None:
    with Lab("fattree:4", "ecmp", datapath="userspace", switch_fast_path="on") as lab:
        done = lab.run("h0", [sys.executable, "-c", _FLOWS])
        assert done.returncode == 0, done.stderr
        sent = to_last_host(lab)
        assert sum(lab.tables("s0")["by_kernel"]) >= 400 * _PER_FLOW
    assert len(sent) == 4
    assert sum(sent) == 400 * _PER_FLOW
    assert all(packets % _PER_FLOW == 0 for packets in sent)
    assert chisquare([packets / _PER_FLOW for packets in sent]).pvalue > 1e-4


def to_last_host(lab: Lab) -> list[int]:
    """How many packets each core switch of a fat tree has sent by its busiest entry."""
    fabric = lab.config.validate().fabric
    cores = [fabric.name(n) for n in range(fabric.size) if fabric.family.label(n).startswith("core")]
    for core in cores:
        lab.run(core, ["ovs-appctl", "revalidator/purge"])
    return [max(one["packets"] for one in lab.flows(core)["flows"]) for core in cores]


def test_a_capture_sees_every_packet_and_a_rate_holds() -> None:
    options = {"datapath": "userspace", "switch_fast_path": "on", "fast_path": "on", "rate": "20Mbit"}
    with Lab("bcube:2,1", "brp", **options) as lab:
        mbps = lab.iperf("h0", "h1", seconds=2).mbps
        assert mbps < 22
        before = sum(lab.tables("s0")["by_kernel"])
        assert before > 0.5 * mbps * 2e6 / 8 / 65536  # half the super-packets, at the largest
        done = lab.run("s0", ["bash", "-c", _CAPTURE])
        assert done.stdout.count("ICMP echo re") == 20, done.stdout
        assert sum(lab.tables("s0")["by_kernel"]) >= before + 20


#: Ten echo requests and their replies, as they pass a port of the switch.
_CAPTURE = """
exec 3< <(exec timeout 30 tcpdump -n -l -c 20 -i s0-eth1 icmp 2>&1)
while read -r -u 3 line; do [[ $line == listening* ]] && break; done
nsenter --net=/run/netns/h0 ping -q -c 10 -i .01 10.0.0.2 >&2
cat <&3
"""


def _as_predicted(lab: Lab, switch: str) -> bool:
    try:
        return bool(lab.tables(switch)["equal"])
    except LabError:  # the daemon does not listen yet
        return False


def test_a_daemon_that_starts_again_has_it_again() -> None:
    with Lab("bcube:2,1", "brp", datapath="userspace", switch_fast_path="on") as lab:
        assert lab.pingall().lost == []
        lab.run("s0", ["bash", "-c", _RESTART])
        end = time.monotonic() + 60
        while not (_as_predicted(lab, "s0") and lab.pingall().lost == []):
            assert time.monotonic() < end
        before = sum(lab.tables("s0")["by_kernel"])
        while sum(lab.tables("s0")["by_kernel"]) <= before:
            assert lab.pingall().lost == []
            assert time.monotonic() < end


@pytest.mark.parametrize("fast", [False, True], ids=["off", "on"])
def test_a_table_with_too_many_kinds_of_entries_is_left_to_open_vswitch(
    two_labs: tuple[Lab, Lab], fast: bool, tmp_path: Path
) -> None:
    lab = two_labs[fast]
    set_entries(lab, [f"priority={100 + number} actions=output:2" for number in range(40)])
    frames = [("h0", random_frame(random.Random(number), number)) for number in range(20)]
    assert len(exchange(lab, frames, tmp_path)[1]) == 20
    assert sum(lab.tables("s0").get("by_kernel", [])) == 0


def test_an_ordinary_user_has_none_and_is_told_so(open_path: Path) -> None:
    code = (
        "from dcnlab import Lab\n"
        "with Lab('bcube:2,1', 'brp', datapath='userspace', switch_fast_path='auto') as lab:\n"
        "    print(lab.info()['switch_fast_path'], lab.ping('h0', 'h3').held)"
    )
    words = ["unshare", "-m", "bash", "-c", script(open_path), "bash", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("off: the kernel refuses"), done.stderr
    assert done.stdout.rstrip().endswith("True")


def test_where_there_is_none_info_says_why() -> None:
    with Lab("torus:2x2", "dor", switch_fast_path="auto") as lab:
        assert lab.info()["switch_fast_path"] == "off: there are no switches"
    with pytest.raises(UsageError, match="switch_fast_path"):
        Lab("torus:2x2", "dor", switch_fast_path="never").start()

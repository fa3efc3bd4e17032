"""Unmodified programs between servers that need two relays: nothing of theirs is corrupted or cut off."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.machine import kernel
from dcnlab.lab.errors import UsageError
from tests.lab.measurement.test_multipath import carried

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("programs")]
DCNLAB = str(Path(sys.executable).parent / "dcnlab")
RUNS_CAT = """
import sys
from dcnlab import Lab
print(Lab.attach(sys.argv[1]).run(sys.argv[2], ["cat"]).stdout, end="")
"""
A, B = "h0", "h26"  # three digits apart: two relays between them


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:3,2", "brp") as running:
        yield running


def start(lab: Lab, node: str, *words: str) -> subprocess.Popen[bytes]:
    """A server program in the background of a node."""
    command = ["exec", lab.config.name, node, "--", *words]
    return subprocess.Popen(
        [DCNLAB, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def listening(lab: Lab, node: str, port: int) -> bool:
    return f":{port} " in lab.run(node, ["ss", "-Hltn"]).stdout


def wait_until(condition, timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


def address(lab: Lab, name: str) -> str:
    return next(str(node["ipv4"]) for node in lab.nodes() if node["name"] == name)


def test_two_relays_lie_between(lab: Lab) -> None:
    assert len(lab.traceroute(A, B).hops) == 3


def test_names_of_servers_mean_something_to_every_program_in_the_lab_and_to_none_outside(lab: Lab) -> None:
    done = lab.run(A, ["sh", "-c", f"getent ahosts {B} && ping -c1 -W5 {B}"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[:3] == [address(lab, B), "STREAM", B], "of its addresses IPv4's comes first"
    assert subprocess.run(["getent", "hosts", B], check=False, capture_output=True).stdout == b""


@pytest.mark.parametrize("size", [0, 1472, 8000])
def test_ping_of_any_size(lab: Lab, size: int) -> None:
    done = lab.run(A, ["ping", "-c3", "-l3", "-W5", "-s", str(size), B])
    assert "3 received" in done.stdout, done.stdout + done.stderr


def test_iperf3_tcp_and_udp(lab: Lab) -> None:
    """All that arrives has crossed three hops; the buffers hold a slow stream of datagrams on any machine."""
    before = carried(lab)
    tcp = lab.iperf(A, B, seconds=1)
    received = tcp.mbps * 1e6 / 8
    assert received > 0
    assert sum(carried(lab)) - sum(before) > 3 * received * 0.9
    udp = lab.iperf(A, B, seconds=1, udp="1M")
    assert udp.mbps > 0
    assert udp.lost_percent < 5


def test_the_buffers_of_udp_are_as_large_as_the_kernel_allows(lab: Lab) -> None:
    """Agents hand datagrams over in bursts: with the kernel's default many are lost at a rate that fits."""
    size = min(4 << 20, *map(kernel.largest_socket_buffer, ("rmem", "wmem")))
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(lab.iperf, A, B, seconds=3, udp="10M")
        wait_until(lambda: f",rb{2 * size}," in lab.run(B, ["ss", "-uanmH"]).stdout)
        assert run.result().lost_percent < 5


@pytest.mark.parametrize("offloads", ["on", "off"])
def test_a_large_file_arrives_unchanged(lab: Lab, tmp_path: Path, offloads: str) -> None:
    """100 MB by HTTP, with the hosts' segmentation and checksum offloads on and off."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(os.urandom(1 << 20) * 100)
    for node in (A, B):
        done = lab.run(node, ["ethtool", "-K", "dcn0", "tx", offloads, "tso", offloads, "gso", offloads])
        assert done.returncode == 0, done.stderr
    server = start(lab, B, "python3", "-m", "http.server", "8000", "--directory", str(tmp_path))
    try:
        wait_until(lambda: listening(lab, B, 8000))
        url = f"http://{address(lab, B)}:8000/source"
        done = lab.run(A, ["curl", "-sS", "--max-time", "240", "-o", str(copy), url], timeout=270)
        assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.wait()
        for node in (A, B):
            lab.run(node, ["ethtool", "-K", "dcn0", "tx", "on", "tso", "on", "gso", "on"])
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (source, copy)]
    assert digests[0] == digests[1]


def test_ssh(lab: Lab, tmp_path: Path) -> None:
    """A real sshd in one server, a real client in another.

    sshd of root changes users, and the lab of an ordinary user has one: there it runs as that one.
    """
    user, group = os.getuid(), os.getgid()
    as_user = ["unshare", "--user", f"--map-user={user}", f"--map-group={group}"] if user else []
    key, host_key = tmp_path / "key", tmp_path / "host_key"
    for path in (key, host_key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    authorized = tmp_path / "authorized"
    authorized.write_text((tmp_path / "key.pub").read_text())
    tmp_path.chmod(0o755)
    options = [
        "StrictModes=no",
        f"AuthorizedKeysFile={authorized}",
        f"HostKey={host_key}",
        "UsePAM=no",
        "PidFile=none",
    ]
    words = [
        "sh",
        "-c",
        'mkdir -p /run/sshd && exec "$@"',
        "sh",
        *as_user,
        "/usr/sbin/sshd",
        "-D",
        "-f",
        "/dev/null",
        "-p",
        "2222",
    ]
    server = start(lab, B, *words, *(word for option in options for word in ("-o", option)))
    try:
        wait_until(lambda: listening(lab, B, 2222))
        client = [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "BatchMode=yes",
            "ConnectTimeout=100",
        ]
        words = ["ssh", "-q", "-p", "2222", "-i", str(key), *(w for o in client for w in ("-o", o))]
        done = lab.run(
            A, [*words, f"{pwd.getpwuid(user).pw_name}@{address(lab, B)}", "echo it works"], timeout=200
        )
        assert done.stdout.strip() == "it works", done.stderr
    finally:
        server.terminate()
        server.wait()


def test_tcpdump_sees_relayed_packets(lab: Lab) -> None:
    relay = lab.traceroute(A, B).hops[0]
    words = ["tcpdump", "-Z", "root", "-nlU", "-i", "any", "-c", "2", "icmp"]
    capture = subprocess.Popen(
        [DCNLAB, "exec", lab.config.name, relay, "--", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert capture.stderr is not None
    for line in capture.stderr:
        if "listening on" in line:
            break
    lab.run(A, ["ping", "-c2", "-i0.2", B])
    out, _ = capture.communicate(timeout=120)
    assert f"{address(lab, A)} > {address(lab, B)}: ICMP echo request" in out


def test_the_exit_code_of_a_program_is_passed_on(lab: Lab) -> None:
    assert lab.run(A, ["sh", "-c", "exit 7"]).returncode == 7


def test_a_program_runs_in_several_nodes_and_each_line_names_its_node(lab: Lab) -> None:
    def in_nodes(nodes: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [DCNLAB, "exec", lab.config.name, nodes, *words]
        return subprocess.run(command, input="not read", capture_output=True, text=True, check=False)

    done = in_nodes("h[0-2],s1*", "sh", "-c", "cat; echo out; printf error >&2")
    nodes = ["h0", "h1", "h2", "s1", *(f"s1{digit}" for digit in range(10))]
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == sorted(f"{node}: out" for node in nodes)
    assert sorted(done.stderr.splitlines()) == sorted(f"{node}: error" for node in nodes)
    worst = in_nodes("h*", "sh", "-c", f"ip address | grep -q {address(lab, B)}/ && exit 3 || exit 0")
    assert worst.returncode == 3
    missing = in_nodes("h0,h99", "true")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith("dcnlab: no node 'h99'")


def test_codes_and_outputs_of_several_nodes_are_one_json_value(lab: Lab) -> None:
    show = 'ip -4 -o address show dev dcn0 | grep -o "10[.0-9]*"; printf "of\\r$0" >&2; exit 4'
    command = [DCNLAB, "exec", "--json", lab.config.name, f"{A},{B}", "sh", "-c", show, "us"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [
        {"node": node, "exit": 4, "stdout": f"{address(lab, node)}\n", "stderr": "of\rus"} for node in (A, B)
    ]
    assert json.loads(done.stdout) == {"nodes": rows, "exit": 4}
    assert (done.returncode, done.stderr) == (4, "")


def test_ctrl_c_ends_a_program_in_all_nodes(lab: Lab) -> None:
    """Those that wait for others do not begin."""
    command = ["env", "--default-signal=INT", DCNLAB, "exec", lab.config.name, "h*", "sleep", "7211"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: lab.run(A, ["pgrep", "-fc", "^sleep 7211"]).stdout == "27\n")
    running.send_signal(signal.SIGINT)
    assert running.wait() == 130
    assert lab.run(A, ["pgrep", "-f", "^sleep 7211"]).stdout == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("exec LAB h2", ["h2", *(f"h2{digit}" for digit in range(7))]),
        ("ping LAB h0 h26", ["h26"]),
        ("flows LAB s26", ["s26"]),
        ("fail LAB link h0 s26", ["s26"]),
        ("kill LAB a", ["agents"]),
        ("ping nolab h", []),
    ],
)
def test_shells_complete_the_nodes_of_the_lab(lab: Lab, line: str, words: list[str]) -> None:
    typed = f"dcnlab {line.replace('LAB', lab.config.name)}"
    asks = {"_DCNLAB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = subprocess.run([DCNLAB], env={**os.environ, **asks}, capture_output=True, text=True, check=False)
    assert sorted(done.stdout.split()) == sorted(words), done.stderr


def test_both_outputs_of_a_program_come_whole_and_apart(lab: Lab) -> None:
    """More than a pipe holds."""
    done = lab.run(A, ["sh", "-c", "yes | head -c 300000; yes no | head -c 300000 >&2"])
    assert (done.stdout, done.stderr) == ("y\n" * 150_000, "no\n" * 100_000)
    assert done.args == ["sh", "-c", "yes | head -c 300000; yes no | head -c 300000 >&2"]


def test_a_program_that_takes_too_long_is_ended(lab: Lab) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        lab.run(A, ["bash", "-c", "exec -a takes-too-long sleep 7200"], timeout=1)
    wait_until(lambda: lab.run(A, ["pgrep", "-f", "takes-too-lon[g]"]).stdout == "")


def test_what_cannot_be_run_is_an_error_or_what_a_shell_says(lab: Lab) -> None:
    with pytest.raises(UsageError, match="h99"):
        lab.run("h99", ["true"])
    with pytest.raises(UsageError, match="say what to run"):
        lab.run(A, [])
    done = lab.run(A, ["nothing-like-that"])
    assert (done.returncode, done.stdout) == (127, "")
    assert "nothing-like-that" in done.stderr


def test_a_program_reads_the_standard_input_of_this_process(lab: Lab) -> None:
    words = [sys.executable, "-c", RUNS_CAT, lab.config.name, A]
    done = subprocess.run(words, input="typed\n", capture_output=True, text=True, check=True)
    assert done.stdout == "typed\n"
    closed = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, check=True)
    assert closed.stdout == b""


def test_settings_of_the_labs_own_processes_do_not_reach_programs(lab: Lab) -> None:
    """They run numpy with one thread; a program in a host has what its user has set."""
    name = "OPENBLAS_NUM_THREADS"
    assert lab.run(A, ["printenv", name]).stdout.strip() == os.environ.get(name, "")

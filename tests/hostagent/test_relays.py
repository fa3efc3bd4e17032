"""Agents on real interfaces: the system's programs communicate through them as through routers."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hostagent.client import AgentError, AgentPool
from hostagent.options import Options
from hostagent.runtime.mmsg import BATCH, BUFFER_COUNT
from tests.hostagent.namespaces import ServerNetwork, server_network

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("outside"),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces with `ip netns`"),
]

MEGABYTE = 1 << 20
OFFLOADS = ("gso", "tso", "tx")
_SO_RCVBUFFORCE, _IP_RECVTTL = 33, 12
#: Seconds after which an agent that is stopped may count as lost, and drops what has waited.
_LONG = 0.5


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A -- relay -- B as a file that lists edges."""
    path = tmp_path_factory.mktemp("chain") / "chain.edgelist"
    path.write_text("0 1\n1 2\n")
    return path


#: A process per agent, one for several, and the fast path in the kernel.
SETTINGS = [{"agents": "host"}, {"agents": "workers"}, {"fast_path": "on"}]


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def chain(edges: Path, request: pytest.FixtureRequest) -> Iterator[ServerNetwork]:
    """h0 -- h1 -- h2."""
    with server_network(f"file:{edges}", "wmgr", **request.param) as made:
        assert not made.pool.no_fast_path
        yield made


@pytest.fixture(scope="module")
def offloading(edges: Path) -> Iterator[ServerNetwork]:
    """The same with all offloads, which its tests leave on."""
    with server_network(f"file:{edges}", "wmgr") as made:
        yield made


def poll(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Poll until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not within the time"
        time.sleep(0.01)


def ping(lab: ServerNetwork, a: int, b: int, *options: str) -> str:
    """Three requests at once: ping waits for the last reply for its interval, which is a second then."""
    return lab.run(a, "ping", "-c", "3", "-l", "3", "-W", "5", *options, lab.addresses[b])


def transfer(lab: ServerNetwork, a: int, b: int, size: int) -> None:
    """Send ``size`` random bytes over TCP; what arrives must have the same sha256."""
    data = os.urandom(MEGABYTE) * (size // MEGABYTE)
    sender, receiver = lab.connect(a, b)
    with sender, receiver:

        def send() -> None:
            sender.sendall(data)
            sender.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        digest = hashlib.sha256()
        while chunk := receiver.recv(MEGABYTE):
            digest.update(chunk)
        thread.join()
    assert digest.digest() == hashlib.sha256(data).digest()


def checksum_errors(lab: ServerNetwork, node: int) -> int:
    """Segments and datagrams that a server's kernel rejected for a wrong checksum."""
    lines = lab.run(node, "cat", "/proc/net/snmp").splitlines()
    total = 0
    for names, values in itertools.pairwise(lines):
        table = dict(zip(names.split(), values.split(), strict=False))
        total += int(table["InCsumErrors"]) if table.get("InCsumErrors", "").isdecimal() else 0
    return total


def transmitted(counters: int, name: str) -> int:
    """Frames that an interface has sent, by its namespace's open ``/proc/net/dev``."""
    (line,) = (line for line in os.pread(counters, MEGABYTE, 0).decode().splitlines() if f"{name}:" in line)
    return int(line.split(":")[1].split()[9])


def test_ping_traceroute_and_a_large_file(chain: ServerNetwork) -> None:
    before = chain.pool.stats()

    def grown(node: int, name: str) -> int:
        return chain.pool.stats()[node].get(name, 0) - before[node].get(name, 0)

    assert " 0% packet loss" in ping(chain, 0, 2)
    assert " 0% packet loss" in ping(chain, 2, 0, "-s", "8000")
    hops = chain.run(0, "traceroute", "-n", "-q", "1", "-w", "5", chain.addresses[2]).splitlines()[1:]
    assert [line.split()[1] for line in hops] == [chain.addresses[1], chain.addresses[2]]
    transfer(chain, 0, 2, 100 * MEGABYTE)
    transfer(chain, 2, 0, 10 * MEGABYTE)

    def all_relayed() -> bool:
        """True but while a packet is on its way; the relay answered the one whose TTL expired."""
        relayed = grown(1, "relayed")
        return relayed > 1000 and relayed == grown(0, "originated") + grown(2, "originated") - 1

    poll(all_relayed)
    assert grown(1, "dropped: TTL expired") == 1


def burst(edges: Path, count: int) -> bool:
    """Have so many small packets, a super-packet among them, wait at a relay, and check that they arrive whole
    and in order; False where the machine was so busy that they have waited too long."""
    with contextlib.ExitStack() as stack:
        lab = stack.enter_context(server_network(f"file:{edges}", "wmgr"))
        sender, receiver = map(stack.enter_context, lab.connect(0, 2))
        relay = psutil.Process(lab.pool.process.pid).children()[1]
        kinds = (socket.AF_INET, socket.SOCK_DGRAM)
        source, sink = (stack.enter_context(lab.inside(node, lambda: socket.socket(*kinds))) for node in (0, 2))
        counters = lab.inside(0, lambda: os.open("/proc/thread-self/net/dev", os.O_RDONLY))
        stack.callback(os.close, counters)
        sink.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 8 << 20)
        sink.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
        sink.settimeout(120)
        sink.bind((lab.addresses[2], 7000))
        before, begun = lab.pool.stats()[1]["relayed"], time.monotonic()
        relay.suspend()
        for number in range(count):
            source.sendto(f"number {number}".encode(), (lab.addresses[2], 7000))
            if number == count // 2:
                sender.sendall(bytes(MEGABYTE // 32))
            if number % BATCH == 0:  # no faster than the source's own agent takes them
                poll(lambda sent=number: transmitted(counters, "h0-eth1") > sent)  # type: ignore[misc]
        relay.resume()
        if time.monotonic() - begun > _LONG:
            return False
        for number in range(count):
            data, (ttl,), *_ = sink.recvmsg(100, 100)
            assert data.decode() == f"number {number}"
            assert int.from_bytes(ttl[2], "little") == 63
        assert len(receiver.recv(MEGABYTE, socket.MSG_WAITALL | socket.MSG_DONTWAIT)) > 0
        assert checksum_errors(lab, 2) == 0
        assert lab.pool.stats()[1]["relayed"] > before + count
        return True


def test_a_burst_arrives_whole_and_in_order(edges: Path) -> None:
    """More small packets than a batch holds."""
    assert any(burst(edges, 3 * BUFFER_COUNT) for _ in range(20))


def test_unreachable_addresses_are_reported_at_once(chain: ServerNetwork) -> None:
    done = subprocess.run(
        ["ip", "netns", "exec", chain.netns(0), "ping", "-c", "1", "-W", "5", "10.77.0.1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"From {chain.addresses[0]} icmp_seq=1 Destination Host Unreachable" in done.stdout


def test_iperf_and_super_packets(chain: ServerNetwork) -> None:
    server = subprocess.Popen(
        ["ip", "netns", "exec", chain.netns(2), "iperf3", "-s", "-1", "--forceflush"],
        stdout=subprocess.PIPE,
        text=True,
    )
    before = chain.pool.stats()[1]["relayed"]
    assert server.stdout is not None
    with server, server.stdout:
        server.stdout.readline()
        assert "listening" in server.stdout.readline()
        report = chain.run(0, "iperf3", "-c", chain.addresses[2], "-t", "1", "-f", "m")
    rates = [float(rate) for rate in re.findall(r"([\d.]+) Mbits/sec.*receiver", report)]
    assert rates
    assert rates[-1] > 0
    relayed = chain.pool.stats()[1]["relayed"] - before
    sent = rates[-1] * 1e6 / 8
    assert sent / relayed > 3000  # far more than an MTU: super-packets stay whole


@pytest.mark.parametrize("off", [*itertools.chain(*(itertools.combinations(OFFLOADS, n) for n in range(4)))])
@pytest.mark.parametrize("where", ["source", "relay"])
def test_every_combination_of_offloads_leaves_checksums_right(
    offloading: ServerNetwork, off: tuple[str, ...], where: str
) -> None:
    interfaces = {"source": [(0, "dcn0"), (0, "h0-eth1")], "relay": [(1, "h1-eth1"), (1, "h1-eth2")]}[where]
    with switched_off(offloading, interfaces, off):
        output = captured(offloading, lambda: transfer(offloading, 0, 2, 2 * MEGABYTE))
    assert checksum_errors(offloading, 2) == checksum_errors(offloading, 0) == 0
    if "tx" in off:
        assert "cksum" in output
        assert "incorrect" not in output


@contextlib.contextmanager
def switched_off(lab: ServerNetwork, interfaces: list[tuple[int, str]], off: tuple[str, ...]) -> Iterator[None]:
    """Without these offloads of interfaces; afterwards all are as before."""
    before = {one: features(lab, *one) for one in interfaces} if off else {}
    for node, interface in before:
        lab.run(node, "ethtool", "-K", interface, *(word for name in off for word in (name, "off")))
    yield
    for (node, interface), wanted in before.items():
        lab.run(node, "ethtool", "-K", interface, *(word for name in off for word in (name, "on")))
        more = dict(wanted.items() - features(lab, node, interface).items())  # which that switched on as well
        if more:
            lab.run(node, "ethtool", "-K", interface, *(word for one in more.items() for word in one))
        assert features(lab, node, interface) == wanted


def features(lab: ServerNetwork, node: int, interface: str) -> dict[str, str]:
    """The offloads of an interface, on or off."""
    lines = lab.run(node, "ethtool", "-k", interface).splitlines()[1:]
    return {name.strip(): state.split()[0] for name, state in (line.split(":") for line in lines)}


def captured(lab: ServerNetwork, action: Callable[[], None]) -> str:
    """The output of tcpdump for the TCP packets that arrive at h2 during ``action``, to the end of a stream."""
    words = ("tcpdump", "-i", "h2-eth1", "-Q", "in", "-l", "-nvv", "-s", "0", "-B", "65536", "tcp")
    listener = subprocess.Popen(
        ["ip", "netns", "exec", lab.netns(2), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert listener.stderr is not None
    assert listener.stdout is not None
    assert "listening" in listener.stderr.readline()
    action()
    # What the signal finds in the ring is lost, so everything up to the FIN is read before.
    seen = []
    while "Flags [F" not in (line := listener.stdout.readline()):
        assert line, "tcpdump has ended"
        seen.append(line)
    listener.send_signal(signal.SIGINT)
    return "".join([*seen, line]) + listener.communicate(timeout=120)[0]


def test_coordinate_addresses_in_the_lowest_block() -> None:
    with server_network("torus:2x2", "pow", load_balance="packet") as lab:
        assert lab.addresses[0] == "0.0.0.34"
        for a, b in itertools.permutations(range(4), 2):
            assert " 0% packet loss" in ping(lab, a, b)
        transfer(lab, 0, 3, 10 * MEGABYTE)
        counts = lab.pool.stats()
        assert min(counts[1]["relayed"], counts[2]["relayed"]) > 0


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_failed_link_is_reported_and_its_announcement_repairs_the_path(setting: dict[str, str]) -> None:
    changes: list[tuple[int, int, bool]] = []
    with server_network("torus:2x2", "wmgr", **setting) as lab:
        lab.pool.on_link_change = lambda node, port, up: changes.append((node, port, up))
        assert " 0% packet loss" in ping(lab, 0, 3)
        lab.run(0, "ip", "link", "set", "h0-eth1", "down")
        far = lab.fabric.peer(0, 1)
        assert far is not None
        poll(lambda: {(0, 1, False), (far.node, far.number, False)} <= set(changes))
        down = [lab.fabric.link_at(0, 1)]
        lab.pool.links(down)
        assert lab.pool.wait_links(down) == 4
        for b in (1, 2, 3):
            assert " 0% packet loss" in ping(lab, 0, b)
        lab.run(0, "ip", "link", "set", "h0-eth1", "up")
        poll(lambda: {(0, 1, True), (far.node, far.number, True)} <= set(changes))
        lab.pool.links([])
        assert lab.pool.wait_links([]) == 4
        assert " 0% packet loss" in ping(lab, 0, far.node)


def test_an_interface_without_carrier_is_reported_at_the_start() -> None:
    with server_network("torus:2x2", "wmgr", start=False) as lab:
        lab.run(0, "ip", "link", "set", "h0-eth1", "down")
        far = lab.fabric.peer(0, 1)
        assert far is not None
        lab.pool.start([lab.place(far.node)])
        lab.pool.wait_ready(20)
        changes: list[tuple[int, int, bool]] = []
        lab.pool.on_link_change = lambda node, port, up: changes.append((node, port, up))
        poll(lambda: changes == [(far.node, far.number, False)])


def test_a_killed_agent_is_reported_and_the_others_go_on() -> None:
    with server_network("torus:2x2", "wmgr") as lab:
        parent = psutil.Process(lab.pool.process.pid)
        parent.children()[2].kill()
        poll(lambda: bool(lab.pool.failures))
        assert lab.pool.failures == [(2, "its process ended with -9")]
        assert sorted(lab.pool.stats()) == [0, 1, 3]
        lab.pool.links([])
        assert lab.pool.wait_links([]) == 3


def test_no_process_is_left_after_the_end_and_devices_go_with_their_namespaces() -> None:
    """To remove a thousand devices one by one takes the kernel 15 s, which nobody should wait for."""
    with server_network("torus:2x2", "wmgr") as lab:
        family = [lab.pool.process.pid, *(p.pid for p in psutil.Process(lab.pool.process.pid).children())]
        assert len(family) == 5
        lab.pool.process.kill()
        poll(lambda: not any(psutil.pid_exists(pid) for pid in family[1:]))
        with pytest.raises(AgentError):
            lab.pool.stats()
        assert "dcn0" in lab.run(0, "ip", "link")


def test_agents_do_not_work_when_nothing_happens() -> None:
    with server_network("torus:2x2", "wmgr") as lab:
        children = psutil.Process(lab.pool.process.pid).children()

        def rests() -> bool:
            before = [sum(child.cpu_times()[:2]) for child in children]
            lab.run(0, "sleep", "0.5")
            return [sum(child.cpu_times()[:2]) for child in children] == before

        lab.pool.stats()  # a child that answers runs: before, it may still wait for a processor
        assert rests() or rests()  # the answer itself may have completed a clock tick


def test_an_agent_does_without_an_interface_that_its_host_has_removed() -> None:
    with server_network("torus:2x2", "wmgr", start=False) as lab:
        place, down = lab.place(1), set()
        lab.pool.on_link_change = lambda node, port, up: None if up else down.add((node, port))
        removed = min(place.ports)
        lab.run(1, "ip", "link", "del", place.ports[removed])
        lab.pool.start([lab.place(0), place])
        lab.pool.wait_ready(20)
        assert sorted(lab.pool.stats()) == [0, 1]
        assert (1, removed) in down


def test_errors_are_one_line() -> None:
    with server_network("torus:2x2", "wmgr", start=False) as lab:
        lab.pool.start([lab.place(0), replace(lab.place(1), netns="/run/netns/missing")])
        with pytest.raises(AgentError, match=r"agent of h1 failed: FileNotFoundError"):
            lab.pool.wait_ready(20)
        assert sorted(lab.pool.stats()) == [0]
    with AgentPool(Options("torus:2x2", "brp")) as pool:
        pool.start([])
        with pytest.raises(AgentError, match="brp does not fit torus:2x2"):
            pool.wait_ready(20)

"""With the fast path real packets fare as without it: counters, captures, rate limits, failures, draws."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from addressing.scheme import path
from hostagent.linux import bpf
from tests.addressing.cases import bound
from tests.hostagent.namespaces import ServerNetwork, run, server_network
from tests.hostagent.test_relays import captured, edges, ping, poll, transfer
from topos.graph import ALL_UP

__all__ = ["edges"]  # a fixture

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("outside"),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces with `ip netns`"),
]

MEGABYTE = 1 << 20


def by_kernel(lab: ServerNetwork) -> dict[int, int]:
    """Packets that the kernel has forwarded in each agent's place."""
    return {node: counts["by kernel"] for node, counts in lab.pool.stats().items()}


def passed(lab: ServerNetwork) -> dict[int, tuple[int, int]]:
    """Packets that each agent forwarded, delivered or sent, and how many of them the kernel did."""
    return {
        node: (sum(counts[key] for key in ("relayed", "delivered", "originated")), counts["by kernel"])
        for node, counts in lab.pool.stats().items()
    }


def test_all_but_the_first_packets_are_the_kernels(edges: Path) -> None:
    with server_network(f"file:{edges}", "wmgr", fast_path="on") as lab:
        ping(lab, 0, 2)  # on a busy machine many more packets than the first may come before the decision
        before = passed(lab)
        transfer(lab, 0, 2, 50 * MEGABYTE)
        for node, (every, kernel) in passed(lab).items():
            assert every - before[node][0] > 200
            assert kernel - before[node][1] > 0.8 * (every - before[node][0])


def test_captures_at_both_ends_of_a_relay_see_every_packet(edges: Path) -> None:
    with server_network(f"file:{edges}", "wmgr", fast_path="on") as lab:
        ping(lab, 0, 2)
        before = by_kernel(lab)
        seen = captured(lab, lambda: transfer(lab, 0, 2, MEGABYTE))
        assert seen.count(f"{lab.addresses[0]}.") > 10
        assert "ttl 63" in seen
        assert by_kernel(lab)[1] > before[1] + 10


def test_a_rate_limit_holds(edges: Path) -> None:
    with server_network(f"file:{edges}", "wmgr", fast_path="on") as lab:
        for line in (
            "qdisc add dev h1-eth2 root handle 1: htb default 1",
            "class add dev h1-eth2 parent 1: classid 1:1 htb rate 20mbit",
        ):
            run("tc", "-n", lab.netns(1), *line.split())
        words = ["ip", "netns", "exec", lab.netns(2), "iperf3", "-s", "-1", "--forceflush"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            while "listening" not in server.stdout.readline():
                continue
            report = json.loads(lab.run(0, "iperf3", "-c", lab.addresses[2], "-n", "5M", "-J"))
        assert report["end"]["sum_received"]["bits_per_second"] < 22e6
        assert by_kernel(lab)[1] > 50  # super-packets of 64 KB at most


def test_a_dead_agent_forwards_nothing(edges: Path) -> None:
    with server_network(f"file:{edges}", "wmgr", fast_path="on") as lab:
        ping(lab, 0, 2)
        relay = lab.pool.process.pid
        children = [int(pid) for pid in Path(f"/proc/{relay}/task/{relay}/children").read_text().split()]
        os.kill(children[1], signal.SIGKILL)
        poll(lambda: any(node == 1 for node, _ in lab.pool.failures))
        assert " 100% packet loss" in answered(lab, 0, 2)


def test_draws_per_packet_use_every_relay() -> None:
    with server_network("torus:2x2", "pow", load_balance="packet", fast_path="on") as lab:
        lab.run(0, "ping", "-c", "400", "-i", "0.002", "-q", lab.addresses[3])
        counts = lab.pool.stats()
        assert min(counts[1]["relayed"], counts[2]["relayed"]) > 200
        assert counts[1]["by kernel"] > 100


@pytest.mark.parametrize("fast_path", ["on", "off"])
def test_what_agents_learn_from_each_other_holds_for_the_kernel_too(fast_path: str) -> None:
    """A link is cut, only the agents say so: all servers answer by new tables."""
    with server_network("torus:3x3", "dor", fast_path=fast_path, link_state="agents") as lab:
        for target in range(1, 9):
            assert " 0% packet loss" in ping(lab, 0, target)
        lab.run(0, "ip", "link", "set", "h0-eth1", "down")
        poll(lambda: all(counts.get("links known down") == 1 for counts in lab.pool.stats().values()))
        fabric = bound("torus:3x3", "dor").fabric
        down = ALL_UP.fail([fabric.link_at(0, 1)])
        scheme = bound("torus:3x3", "dor").with_failures(down)
        for target in range(1, 9):
            assert path(scheme, 0, target, down)
            assert path(scheme, target, 0, down)
            poll(lambda target=target: " 0% packet loss" in answered(lab, 0, target))  # type: ignore[misc]


def answered(lab: ServerNetwork, a: int, b: int) -> str:
    words = ["ip", "netns", "exec", lab.netns(a), "ping", "-c", "2", "-i", "0.01", "-W", "1", lab.addresses[b]]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_what_the_kernel_refuses_is_said_and_agents_forward_alone(edges: Path) -> None:
    with server_network(f"file:{edges}", "wmgr", fast_path="on", buffers=4, flow_control="credits") as lab:
        poll(lambda: bool(lab.pool.no_fast_path))
        assert "buffers" in lab.pool.no_fast_path
        assert " 0% packet loss" in ping(lab, 0, 2)
    assert bpf.supported() == ""

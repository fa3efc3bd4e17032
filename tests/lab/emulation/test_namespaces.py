"""What the namespaces of a lab inherit from the machine, and what they keep to themselves."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("namespaces")]
#: Seconds that a resolver waits for a server that does not answer, before it asks again.
_FIRST_ATTEMPT = 5.0


@pytest.mark.parametrize(("options", "value"), [({}, "20\n"), ({"delay": "5ms"}, "9\n")])
def test_hosts_send_large_segments_where_links_are_not_shaped(options: dict[str, str], value: str) -> None:
    setting = Path("/proc/sys/net/ipv4/tcp_tso_rtt_log")
    if not setting.exists():
        pytest.skip("this kernel has no such setting")
    with Lab("bcube:2,1", "brp", **options) as lab:
        assert lab.run("h3", ["cat", str(setting)]).stdout == value


def test_no_node_of_a_lab_forwards_in_the_kernel() -> None:
    with Lab("fattree:2", "shortest") as lab:
        for node in ("h0", "s0"):
            done = lab.run(node, ["cat", "/proc/sys/net/ipv4/ip_forward"])
            assert done.stdout == "0\n"


@pytest.fixture(scope="module", params=[False, True], ids=["", "isolated"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Plain hosts, whose network leads to all addresses near theirs."""
    with Lab("fattree:4", "shortest", isolate=request.param) as running:
        yield running


def test_hosts_have_names_of_their_own(lab: Lab) -> None:
    """Also in shells, which print them, and for programs that look their own address up."""
    addresses = {node.name: node.ipv4 for node in lab.nodes()}
    for node in ("h0", "h3", "h0"):
        done = lab.run(node, ["bash", "-c", "hostname; echo $HOSTNAME; getent ahostsv4 $HOSTNAME"])
        assert done.stdout.split()[:3] == [node, node, addresses[node]]
    assert os.uname().nodename not in ("h0", "h3")


def test_a_new_host_name_stays_in_its_host(lab: Lab) -> None:
    before = os.uname().nodename
    if lab.config.isolate:  # which has no right to change it
        assert lab.run("h1", ["hostname", "renamed"]).returncode != 0
        return
    lab.run("h1", ["hostname", "renamed"])
    assert [lab.run(node, ["hostname"]).stdout for node in ("h1", "h2")] == ["renamed\n", "h2\n"]
    assert os.uname().nodename == before


def test_sys_names_the_interfaces_of_the_host(lab: Lab) -> None:
    """It has the cgroups of the machine all the same, where the host is not isolated."""
    for node in ("h0", "h3"):
        assert lab.run(node, ["ls", "/sys/class/net"]).stdout.split() == [f"{node}-eth1", "lo"]
    if not lab.config.isolate:
        cgroups = sorted(os.listdir("/sys/fs/cgroup"))
        assert lab.run("h0", ["ls", "-a", "/sys/fs/cgroup"]).stdout.split()[2:] == cgroups


def test_a_name_that_does_not_exist_fails_without_waiting(lab: Lab) -> None:
    """The machine's name servers, which cannot answer, are not asked; the names of servers are there."""
    begun = time.monotonic()
    assert lab.run("h0", ["getent", "ahosts", "no-such-name.example"]).returncode == 2
    assert time.monotonic() - begun < _FIRST_ATTEMPT
    assert lab.run("h0", ["getent", "ahosts", "h3"]).returncode == 0
    assert lab.run("h0", ["cat", "/etc/resolv.conf"]).stdout.startswith("nameserver 127.0.0.1\n")


def test_what_a_host_mounts_other_hosts_do_not_see(lab: Lab) -> None:
    if lab.config.isolate:
        assert lab.run("h0", ["mount", "-t", "tmpfs", "none", "/mnt"]).returncode != 0
        return
    done = lab.run("h0", ["sh", "-c", "mount -t tmpfs none /mnt && touch /mnt/theirs"])
    assert done.returncode == 0, done.stderr
    assert lab.run("h0", ["ls", "/mnt"]).stdout == "theirs\n"
    assert "theirs" not in lab.run("h3", ["ls", "/mnt"]).stdout


def test_programs_change_no_setting_of_the_machine() -> None:
    """Neither in the whole machine's settings nor in other labs; those of their own network they may change."""
    pattern = Path("/proc/sys/kernel/core_pattern")
    before = pattern.read_text()
    with Lab("bcube:2,1", "brp") as lab:
        for name in ("kernel/core_pattern", "vm/swappiness", "fs/file-max"):
            if Path("/proc/sys", name).exists():
                done = lab.run("h0", ["sh", "-c", f"cat /proc/sys/{name} > /proc/sys/{name}"])
                assert done.returncode != 0, name
        assert lab.run("h0", ["sh", "-c", "echo 7 > /proc/sys/net/ipv4/ip_default_ttl"]).returncode == 0
        listed = lab.run("h0", [sys.executable, "-m", "dcnlab.cli", "ps", "--json"])
        assert json.loads(listed.stdout) == []
        down = lab.run("h0", [sys.executable, "-m", "dcnlab.cli", "down", lab.config.name])
        assert down.returncode != 0
        assert lab.pingall().lost == []
    assert pattern.read_text() == before

"""What the namespaces of a lab inherit from the machine, and what they keep to themselves."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab

pytestmark = pytest.mark.lab


def test_no_node_of_a_lab_forwards_in_the_kernel() -> None:
    with Lab("fattree:2", "shortest") as lab:
        for node in ("h0", "s0"):
            found = lab.run(node, ["cat", "/proc/sys/net/ipv4/ip_forward"])
            assert found.stdout == "0\n"


def test_a_new_host_name_stays_in_the_lab() -> None:
    before = os.uname().nodename
    with Lab("bcube:2,1", "brp") as lab:
        assert lab.run("h0", ["hostname"]).stdout.strip() == before
        lab.run("h0", ["hostname", "renamed-by-a-lab"])
        assert lab.run("h1", ["hostname"]).stdout.strip() == "renamed-by-a-lab"
        assert os.uname().nodename == before


def test_sys_names_no_interface_of_the_machine() -> None:
    """It has the cgroups of the machine all the same."""
    with Lab("fattree:2", "shortest") as lab:
        assert lab.run("h0", ["ls", "/sys/class/net"]).stdout == "lo\n"
        cgroups = sorted(os.listdir("/sys/fs/cgroup"))
        assert lab.run("h0", ["ls", "-a", "/sys/fs/cgroup"]).stdout.split()[2:] == cgroups


def test_programs_change_no_setting_of_the_machine() -> None:
    """Neither in the whole machine's settings nor in other labs; those of their own network they may change."""
    pattern = Path("/proc/sys/kernel/core_pattern")
    before = pattern.read_text()
    with Lab("bcube:2,1", "brp") as lab:
        for name in ("kernel/core_pattern", "vm/swappiness", "fs/file-max"):
            if Path("/proc/sys", name).exists():
                found = lab.run("h0", ["sh", "-c", f"cat /proc/sys/{name} > /proc/sys/{name}"])
                assert found.returncode != 0, name
        assert lab.run("h0", ["sh", "-c", "echo 7 > /proc/sys/net/ipv4/ip_default_ttl"]).returncode == 0
        listed = lab.run("h0", [sys.executable, "-m", "dcnlab.cli", "ps", "--json"])
        assert json.loads(listed.stdout) == []
        down = lab.run("h0", [sys.executable, "-m", "dcnlab.cli", "down", lab.config.name])
        assert down.returncode != 0
        assert lab.pingall().lost == []
    assert pattern.read_text() == before

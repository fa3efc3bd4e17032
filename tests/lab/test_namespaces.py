"""What the namespaces of a lab inherit from the machine, and what they keep to themselves."""

from __future__ import annotations

import os

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

"""Multipath TCP in a real lab: one connection fills several ways, and a kernel without it is named."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError
from tests.capabilities import lacking
from tests.lab.measurement.test_multipath import carried
from tests.lab.running.test_agents_alone import lab_link
from tests.lab.shared import on_shared_lab

pytestmark = pytest.mark.lab


def test_one_connection_fills_both_paths() -> None:
    """Links of 4 Mb/s, slow enough for any machine: TCP fills one of two disjoint paths, Multipath TCP both."""
    with Lab("bcube:4,1", "brp:multipath=yes,paths=2", rate="4Mbit", link_state="agents") as lab:
        before = carried(lab)
        try:
            compared = lab.mptcp("h0", "h15", seconds=3)
            for _ in range(4):
                if compared.ratio <= 1.3:  # the machine was busy: one connection waited for the processor
                    compared = lab.mptcp("h0", "h15", seconds=3)
        except UsageError as error:
            lacking(str(error))
        used = [after - b for b, after in zip(before, carried(lab), strict=True)]
        assert compared.paths == compared.mptcp.subflows == 2
        assert compared.tcp.mbps < 4.2
        assert compared.ratio > 1.3
        ends = used[lab_link(lab, "h0", "s0")], used[lab_link(lab, "h0", "s4")]
        assert min(ends) > 0.1 * max(ends)
        address = lab.run("h0", ["ip", "-4", "-br", "address", "show", "dcn0"]).stdout
        assert address.split()[2:] == ["10.0.0.1/32"]  # what was added is gone
        flows = lab.traffic("one-to-one", sizes="fixed:50K", count=2, transport="mptcp", timeout=60)
        assert (flows.flows, flows.failed) == (2, 0)
        assert lab.run("h0", ["ip", "mptcp", "endpoint"]).stdout == ""
        single = lab.iperf("h0", "h15", seconds=1)
        assert single.mbps < 4.2


@on_shared_lab
def test_one_path_is_not_enough(lab: Lab) -> None:
    with pytest.raises(UsageError, match="--multipath 2 or more"):
        lab.mptcp("h0", "h3", seconds=1)


def test_a_kernel_without_it_is_one_line() -> None:
    """In a network namespace of its own, where it is really switched off."""
    script = (
        "sysctl -qw net.mptcp.enabled=0 && exec $0 -c 'from dcnlab.lab.instruments.mptcp import check; check()'"
    )
    own = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]
    done = subprocess.run(
        [*own, "sh", "-c", script, sys.executable], capture_output=True, text=True, check=False
    )
    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert said.startswith("dcnlab.lab.errors.UsageError: no Multipath TCP: this kernel")

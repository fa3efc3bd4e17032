"""The trial of switches without Open vSwitch (docs/decisions/bridgeless.md) forwards, and hands over."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchmarks.bridgeless.compiler import lowered
from benchmarks.bridgeless.needs import need
from controller import plan
from dcnlab.lab.options.config import resolve
from dcnlab.lab.switchpath.entries import FORWARD

_TRIAL = """
import dataclasses, json, os
from benchmarks.bridgeless import starting
from benchmarks.bridgeless.networks import Bridgeless
from benchmarks.sandboxes import enter_sandbox

enter_sandbox()
net = Bridgeless("bcube:2,1", "brp")
net.change(net.fabric.link_at(0, 1), up=False)
net.change(net.fabric.link_at(0, 1), up=True)
net.at(0, "ping", "-c", "3", "10.0.0.4")
started = starting.start(net, net.running.shards[0], 0, 1)
print(json.dumps(dataclasses.asdict(started)), flush=True)
os._exit(0)
"""


def test_each_entry_of_a_table_leads_to_the_interface_of_its_port() -> None:
    fabric, scheme = resolve("bcube:2,1", "brp")
    switch = fabric.index("s0")
    table = plan.desired_table(scheme, switch)
    actions = lowered(table, {port: 100 + port for port, _ in fabric.ports(switch)}).entries.values()
    assert sorted((action.flags, action.out) for action in actions) == [(FORWARD, 101), (FORWARD, 102)]


def test_requests_for_hardware_addresses_need_open_vswitch() -> None:
    fabric, _ = resolve("fattree:2", "ecmp")
    hosts = {near.node for host in range(fabric.servers) for _, near in fabric.ports(host)}
    assert need("fattree:2", "ecmp").switches == len(hosts)
    assert need("bcube:2,1", "brp").left == 0


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel reserves bpf(2) for root")
def test_open_vswitch_takes_over_without_losing_or_doubling_a_packet() -> None:
    done = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    started = json.loads(done.stdout.splitlines()[-1])
    assert started["sent"] > 100
    assert (started["lost"], started["doubled"]) == (0, 0)

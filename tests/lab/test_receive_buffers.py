"""The packet sockets of the userspace switch have room for a burst: iproute2's ``ss`` shows it."""

from __future__ import annotations

import re

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.receive_buffers import SIZE

_SOCKET = re.compile(r":(s\d+-eth\d+) .*ovs-vswitchd.*skmem:\(r\d+,rb(\d+),")


@pytest.mark.lab
def test_every_port_of_a_userspace_switch_has_a_large_buffer() -> None:
    with Lab("bcube:2,1", "brp", datapath="userspace") as lab:
        shown = lab.run("s0", ["ss", "--packet", "--memory", "--numeric", "--processes"]).stdout
    sizes = dict(_SOCKET.findall(shown))
    assert sizes.keys() == {f"s{switch}-eth{port}" for switch in range(4) for port in (1, 2)}
    assert {int(size) for size in sizes.values()} == {2 * SIZE}  # the kernel doubles what is asked for

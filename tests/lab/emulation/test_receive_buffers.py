"""The packet sockets of the userspace switch have room for a burst, whatever becomes of its ports and its
daemon: iproute2's ``ss`` shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.doctor import checks
from dcnlab.lab.emulation.switches.receive_buffers import SEND_SIZE, SIZE, in_words
from tests.ordinary import script

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user gets no more than the machine allows"),
]

_SOCKET = re.compile(r":(s\d+-eth\d+) .*ovs-vswitchd.*skmem:\(r\d+,rb(\d+),")
PORTS = {f"s{switch}-eth{port}" for switch in range(4) for port in (1, 2)}
LARGE = 2 * SIZE  # the kernel doubles what is asked for
#: What starts the daemon of a shard again with the arguments of its process, after it was killed.
_RESTART = """
set -e
pid=$(cat $OVS_RUNDIR/ovs-vswitchd.pid)
mapfile -d '' words < /proc/$pid/cmdline
kill -9 $pid
while kill -0 $pid 2>/dev/null; do :; done
"${words[@]}" || true  # another may have started it
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", datapath="userspace", supervise=False) as one:
        yield one


def sizes(lab: Lab) -> dict[str, int]:
    """The size of each port's receive buffer."""
    shown = lab.run("s0", ["ss", "--packet", "--memory", "--numeric", "--processes"]).stdout
    return {name: int(size) for name, size in _SOCKET.findall(shown)}


def await_large(lab: Lab) -> None:
    """Wait until every port has a socket with a large buffer."""
    end = time.monotonic() + 60
    while sizes(lab) != dict.fromkeys(PORTS, LARGE):
        assert time.monotonic() < end, sizes(lab)
        time.sleep(0.02)


def sockets(lab: Lab) -> dict[str, str]:
    """The socket of each port, by its number in the kernel."""
    shown = lab.run("s0", ["ss", "--packet", "--numeric", "--extended", "--processes"]).stdout
    return dict(re.findall(r":(s\d+-eth\d+) .*ovs-vswitchd.*ino:(\d+)", shown))


def test_every_port_has_a_large_buffer_and_info_says_so(lab: Lab) -> None:
    assert sizes(lab) == dict.fromkeys(PORTS, LARGE)
    assert lab.info()["receive_buffers"] == "8 MB at each of 8 ports"


def test_a_port_that_comes_back_gets_one_again(lab: Lab) -> None:
    lab.fail("h0", "s0")
    lab.restore("h0", "s0")
    await_large(lab)
    before = sockets(lab)["s1-eth2"]
    lab.run("s1", ["ovs-vsctl", "del-port", "s1", "s1-eth2"])
    assert "s1-eth2" not in sizes(lab)
    words = ["add-port", "s1", "s1-eth2", "--", "set", "Interface", "s1-eth2", "ofport_request=2"]
    lab.run("s1", ["ovs-vsctl", *words])
    await_large(lab)
    assert sockets(lab)["s1-eth2"] != before
    assert lab.pingall().lost == []


def test_a_daemon_that_starts_again_gets_them_again(lab: Lab) -> None:
    before = sockets(lab)
    lab.run("s0", ["bash", "-c", _RESTART])
    await_large(lab)
    assert not set(sockets(lab).values()) & set(before.values())


def test_doctor_says_what_labs_get() -> None:
    buffers = {finding.what: finding for finding in checks.examine()}["receive buffers"]
    assert (buffers.state, buffers.found) == ("ok", "8 MB per port of a userspace switch")


def test_labs_of_an_ordinary_user_get_what_the_machine_allows(open_path: Path) -> None:
    code = (
        "from dcnlab import Lab\n"
        "with Lab('bcube:2,1', 'brp', datapath='userspace') as lab:\n"
        "    print(lab.info()['receive_buffers'])"
    )
    words = ["unshare", "-m", "bash", "-c", script(open_path), "bash", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    assert done.stdout == f"{in_words(min(SIZE, limit))} at each of 8 ports\n", done.stderr


def test_a_slow_link_takes_no_send_buffer_from_the_others() -> None:
    """All links of a switch are slow and have full queues: nothing is lost, since queues have room."""
    with Lab("bcube:2,1", "brp", datapath="userspace", rate="10Mbit") as lab:
        shown = lab.run("s0", ["ss", "--packet", "--memory", "--numeric", "--processes"]).stdout
        [size] = re.findall(r"\[0\]:\* .*ovs-vswitchd.*skmem:\(.*,tb(\d+),", shown)
        assert int(size) == 2 * SEND_SIZE
        assert lab.pingall().lost == []

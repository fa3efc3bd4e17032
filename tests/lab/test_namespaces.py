"""What the namespaces of a lab inherit from the machine, and what they keep to themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dcnlab.lab.client import Lab
from tests.capabilities import lacking

pytestmark = pytest.mark.lab

#: Creates a namespace of a lab while the machine forwards, and prints the setting there; before that the
#: setting of a namespace that inherits it.  The machine forwards for some milliseconds only.
_WHILE_FORWARDING = """
from pathlib import Path
from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.sandbox import CLONE_NEWNET, unshare
setting = Path("/proc/sys/net/ipv4/ip_forward")
before = setting.read_text()
try:
    setting.write_text("1")
    netns.create(["h0"])
    unshare(CLONE_NEWNET)
finally:
    netns.inside("machine", lambda: setting.write_text(before))
print(setting.read_text(), netns.inside("h0", setting.read_text))
"""


def test_hosts_do_not_forward_in_the_kernel() -> None:
    """Whether namespaces inherit forwarding is a setting of the kernel; by default they do."""
    if not os.access("/proc/sys/net/ipv4/ip_forward", os.W_OK):
        lacking("this user cannot let the machine forward")
    prepare = "mount -t tmpfs none /run && mkdir /run/netns && touch /run/netns/machine"
    bind = "mount --bind /proc/self/ns/net /run/netns/machine"
    words = ["unshare", "-m", "sh", "-c", f'{prepare} && {bind} && exec "$@"', "sh"]
    done = subprocess.run(
        [*words, sys.executable, "-c", _WHILE_FORWARDING], capture_output=True, text=True, check=True
    )
    inherited, in_lab = done.stdout.split()
    assert in_lab == "0"
    if inherited != "1":
        lacking("new namespaces do not inherit forwarding here")


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

"""Labs on several machines: controllers of others, interfaces of machines, the prompt, wrong cables."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError
from tests.capabilities import lacking
from tests.lab.cluster import TIMEOUT, Machines, until
from tests.lab.controllers import TESTCONTROLLER
from tests.lab.machines import (
    attached,
    cut_link,
    name,
    nodes_of,
)
from tests.lab.terminal import DCNLAB
from tests.lab.underlay import Machine
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("machines")]


def test_cables_swapped_between_machines_are_named(three: Machines) -> None:
    words = ("--scheme", "pow", "--autoconfigure", "--miswire", "h0:1,h8:3", "-d", "--name", name())
    done = three.up("torus:3x3", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.count(" is connected to ") == 4
    assert "h0 (0,0) port 1 is connected to h" in done.stderr


@contextlib.contextmanager
def learning_switch(machine: Machine, folder: Path) -> Iterator[str]:
    """Open vSwitch's learning switch on a machine; where it listens."""
    command = [TESTCONTROLLER, f"ptcp:6653:{machine.address}", f"--unixctl={folder}/ctl"]
    connect = "import socket, sys; socket.create_connection((sys.argv[1], 6653), 60)"
    with subprocess.Popen(machine.command(command), stderr=subprocess.DEVNULL) as process:
        try:
            until(
                lambda: process.poll() is not None or machine.python(connect, machine.address).returncode == 0
            )
            assert process.poll() is None
            yield f"{machine.address}:6653"
        finally:
            process.kill()


def test_one_controller_steers_the_switches_of_all_machines(three: Machines, tmp_path: Path) -> None:
    """The spanning tree along which it floods goes over links between machines."""
    if shutil.which(TESTCONTROLLER) is None:
        lacking(f"not installed: openvswitch-testcontroller ({TESTCONTROLLER})")
    lab_name = name()
    with learning_switch(three.machines[1], tmp_path) as address:
        words = ("--controller", f"remote:{address}", "--no-loops")
        info = three.launched(lab_name, "dragonfly:2,1,1", *words)
        with attached(lab_name) as lab:
            control = info["controller"]
            assert (control["switches"], control["connected"], control["notes"]) == (6, 6, [])
            until(lambda: lab.pingall().held)
            assert lab.tables("s0")["equal"] is None
            assert lab.explain("h0", "h5")[-1]["delivered"]
            with pytest.raises(UsageError, match="name one with --switch"):
                lab.capture("controller", tmp_path / "captured")


_HUB = """
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_cls

class Hub(OSKenApp):
    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event):
        path = event.msg.datapath
        out = path.ofproto_parser.OFPActionOutput(path.ofproto.OFPP_FLOOD)
        apply = path.ofproto_parser.OFPInstructionActions(path.ofproto.OFPIT_APPLY_ACTIONS, [out])
        path.send_msg(path.ofproto_parser.OFPFlowMod(path, priority=1, instructions=[apply]))
"""


def test_every_machine_has_the_applications_of_the_user(three: Machines, tmp_path: Path) -> None:
    (tmp_path / "hub.py").write_text(_HUB)
    lab_name = name()
    words = ("--controller", f"app-only:{os.path.relpath(tmp_path / 'hub.py')}", "--no-loops")
    info = three.launched(lab_name, "dragonfly:2,1,1", *words)
    with attached(lab_name) as lab:
        assert (info["controller"]["connected"], info["controller"]["library"]) == (6, "os-ken")
        until(lambda: lab.pingall().held)
        lab.fail(*cut_link(info))  # the spanning tree follows on all machines
        until(lambda: lab.pingall().held)
        an_interface_of_a_machine_is_a_port(three, lab)
        lab.kill("controller")
        until(lambda: lab.info()["controller"]["connected"] == 6 and lab.info()["restarts"])
        assert lab.pingall().held


def an_interface_of_a_machine_is_a_port(three: Machines, lab: Lab) -> None:
    """Of the machine that runs the switch; what is behind it reaches hosts of all machines."""
    machines = three.machines[:2]
    switches = [registry.fabric("dragonfly:2,1,1").name(max(nodes_of(lab, number))) for number in range(2)]
    for machine in machines:
        addressed = "address add 10.0.0.99/24 dev plug1"
        for words in ("link add plug0 type veth peer name plug1", "link set plug1 up", addressed):
            subprocess.run(machine.command(["ip", *words.split()]), check=True)
    for switch in switches:
        assert lab.attach_interface(switch, "plug0").port == 4
    assert [one.switch for one in lab.info().outside.attached] == switches
    with pytest.raises(UsageError, match="name one with --switch"):
        lab.detach_interface("plug0")
    lab.detach_interface("plug0", switches[1])
    addresses = [node["ipv4"] for node in lab.nodes() if node["ipv4"]]
    for address in addresses:
        ping = machines[0].command(["ping", "-c1", "-W60", "-Iplug1", address])
        assert subprocess.run(ping, stdout=subprocess.DEVNULL, check=False).returncode == 0
    lab.detach_interface("plug0")
    for machine in machines:
        subprocess.run(machine.command(["ip", "link", "del", "plug0"]), check=True)


def test_the_prompt_reaches_all_machines(three: Machines) -> None:
    """Commands in nodes, Mininet's and the lab's own; what needs Mininet's objects is refused."""
    typed = ["nodes", "h0 ping -c1 -W60 h3", "h3 sh -c 'exit 3'", "pingall", "iperf h0 h3", "link h0 s2 down"]
    typed += [
        "links",
        "link h0 s2 up",
        "tables s1",
        "path h0 h3",
        "explain h0 h3",
        "py 1",
        "net",
        "dump",
        "foo",
        "exit",
    ]
    command = [*DCNLAB, "up", "bcube:2,1", "--scheme", "brp", "--machines", three.address, "--name", name()]
    done = subprocess.run(
        three.machines[0].command(command), input="\n".join(typed) + "\n", capture_output=True, text=True,
        check=False, env=three.environment, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    for expected in (
        "h0 h1 h2 h3 s0 s1 s2 s3", "1 received, 0% packet loss", "(12/12 received)", "Mb/s from h0 to h3",
        "h0-eth2<->s2-eth1 (down)", "installed, as predicted", "py needs a lab on one machine",
        "delivers: destination reached",
        "h0 h0-eth1:s0-eth1 h0-eth2:s2-eth1", "*** Unknown command: foo",
    ):  # fmt: skip
        assert expected in shown, shown
    assert len(re.findall(r"h\d: server .* 10\.0\.0\.\d m\d", shown)) == 4
    assert "Traceback" not in shown + done.stderr

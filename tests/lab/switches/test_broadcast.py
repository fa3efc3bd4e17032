"""`--broadcast`: frames for groups reach every host once, DHCP works, and the tree follows failures."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.config import LabConfig
from tests.lab.machines import reached
from tests.ovs import poll

pytestmark = pytest.mark.lab
_CONF = """start 10.0.0.100
end 10.0.0.110
interface h0-eth1
opt subnet 255.0.0.0
lease_file {0}/leases
pidfile {0}/pid
"""


@pytest.mark.parametrize(
    ("topology", "scheme", "options", "says"),
    [
        ("bcube:4,1", "brp", {"buffers": 10}, "relays with limited buffers carry no copies for groups"),
        ("clot:4x4", "pow", {}, "pow has its labels in IP addresses"),
        ("fattree:4", "none", {}, "broadcast is for our controller"),
        ("fattree:4", "ecmp", {"controller": "none"}, "broadcast is for our controller"),
    ],
)
def test_labs_that_have_no_tree_refuse_it(
    topology: str, scheme: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(OptionError, match=says):
        LabConfig.of(topology, scheme, broadcast=True, **options).validate()


@pytest.mark.parametrize(
    ("topology", "scheme", "order"),
    [
        ("fattree:4", "ecmp", "fast"),
        ("jellyfish:6,3,2", "ksp", "fast"),
        ("fattree:4", "ecmp", "loop-free"),
        ("fattree:4", "updown", "loop-free"),  # in phases
    ],
)
def test_group_frames_reach_every_host_once_also_after_failures(
    topology: str, scheme: str, order: Literal["fast", "loop-free"]
) -> None:
    with Lab(topology, scheme=scheme, broadcast=True, update_order=order) as lab:
        servers = lab.info().servers
        first, second, *_ = lab.route("h0", f"h{servers - 1}")[1:-1]
        for change in (lambda: None, lambda: lab.fail(first, second), lambda: lab.restore(first, second)):
            change()
            poll(lambda: len(set(reached(lab))) == servers, 60)
            answers = reached(lab)
            assert len(answers) == len(set(answers)), "nobody heard a frame twice"
            assert lab.pingall().lost == []
            verified = lab.verify(any_packet=True)
            assert verified.found == [], "no other packet loops either"


@pytest.mark.parametrize(("topology", "scheme"), [("bcube:2,1", "brp"), ("dcell:2,1", "dfr")])
def test_relays_carry_groups_to_every_server_once_also_after_a_failure(topology: str, scheme: str) -> None:
    with Lab(topology, scheme=scheme, broadcast=True) as lab:
        servers, (first, second) = lab.info().servers, lab.route("h1", "h0")[:2]
        for change in (lambda: None, lambda: lab.fail(first, second)):
            change()
            poll(lambda: len(set(reached(lab, "dcn0"))) == servers, 60)
            answers = reached(lab, "dcn0")
            assert len(answers) == len(set(answers)), "nobody heard a packet twice"
        assert lab.pingall().lost == []


@pytest.mark.parametrize(
    ("topology", "scheme", "flags"), [("fattree:4", "ecmp", []), ("fattree:4", "twolevel", ["-B"])]
)
def test_dhcp_works(tmp_path: Path, topology: str, scheme: str, flags: list[str]) -> None:
    (tmp_path / "conf").write_text(_CONF.format(tmp_path))
    (tmp_path / "leases").touch()
    (script := tmp_path / "bound").write_text('#!/bin/sh\n[ "$1" != bound ] || echo has $ip\n')
    script.chmod(0o755)
    with Lab(topology, scheme=scheme, broadcast=True) as lab:
        lab.serve("dhcp", "h0", ["busybox", "udhcpd", "-f", str(tmp_path / "conf")])
        client = ["busybox", "udhcpc", "-f", "-q", "-n", "-t20", "-T1", "-i", "h5-eth1", "-s", str(script)]
        asked = lab.run("h5", [*client, *flags])
        assert "has 10.0.0.1" in asked.stdout, asked.stderr

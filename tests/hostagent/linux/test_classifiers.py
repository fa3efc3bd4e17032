"""Programs at interfaces, as tc lists them: one per interface or block, the latest one, and no other's lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from hostagent.linux import bpf
from hostagent.linux.bpf_assembler import Assembler
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import attach_classifier, attach_ingress
from hostagent.runtime.devices import inside
from tests.hostagent.namespaces import run

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user may not load programs into the kernel"),
]
_NAME, _BLOCK = "dcnlab-classifiers", 7


@pytest.fixture
def indices() -> Iterator[list[int]]:
    """The indices of four interfaces, ``a0`` to ``a3``, of links in a namespace of their own."""
    run("ip", "netns", "add", _NAME)
    try:
        for number in range(4):
            run("ip", "-n", _NAME, "link", "add", f"a{number}", "up", "type", "veth")
        yield [
            json.loads(run("ip", "-n", _NAME, "-j", "link", "show", f"a{i}"))[0]["ifindex"] for i in range(4)
        ]
    finally:
        run("ip", "netns", "delete", _NAME)


def loaded() -> int:
    """The descriptor of a new program that lets everything pass."""
    code = Assembler()
    code.exit(0)
    return bpf.load_classifier(code.assemble())


def programs(*where: str) -> list[int]:
    """The kernel's numbers of the programs that tc shows there."""
    shown = json.loads(run("tc", "-n", _NAME, "-j", "filter", "show", *where))
    return [one["options"]["prog"]["id"] for one in shown if "options" in one]


def number(program: int) -> int:
    """The kernel's number of a program."""
    with open(f"/proc/self/fdinfo/{program}") as info:
        return next(int(line.split()[1]) for line in info if line.startswith("prog_id:"))


def test_interfaces_share_a_block_of_which_a_later_program_takes_the_place(indices: list[int]) -> None:
    first, second = loaded(), loaded()
    with inside(f"/run/netns/{_NAME}"), Netlink() as netlink:
        attach_ingress(netlink, indices[:2], first, _BLOCK)
        assert programs("block", str(_BLOCK)) == [number(first)]
        attach_ingress(netlink, [*indices[:3], max(indices) + 1], second, _BLOCK)
    assert programs("block", str(_BLOCK)) == [number(second)]
    for name in ("a0", "a1", "a2"):
        shown = run("tc", "-n", _NAME, "qdisc", "show", "dev", name)
        assert f"ingress_block {_BLOCK}" in shown
    assert "clsact" not in run("tc", "-n", _NAME, "qdisc", "show", "dev", "a3")


def test_what_leaves_an_interface_keeps_its_own_program(indices: list[int]) -> None:
    arriving, leaving = loaded(), loaded()
    with inside(f"/run/netns/{_NAME}"), Netlink() as netlink:
        attach_classifier(netlink, indices[0], leaving, ingress=False)
        attach_ingress(netlink, indices, arriving, _BLOCK)
        attach_classifier(netlink, indices[1], leaving, ingress=False)
    for name in ("a0", "a1"):
        assert programs("dev", name, "egress") == [number(leaving)]
    assert programs("dev", "a0", "ingress") == programs("block", str(_BLOCK)) == [number(arriving)]


def test_an_interface_that_had_a_program_before_gets_the_new_one(indices: list[int]) -> None:
    before, after = loaded(), loaded()
    with inside(f"/run/netns/{_NAME}"), Netlink() as netlink:
        attach_classifier(netlink, indices[0], before, ingress=True)
        attach_ingress(netlink, indices[:1], after, _BLOCK)
    assert programs("dev", "a0", "ingress") == [number(after)]

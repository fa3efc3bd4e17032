"""Parts of one fabric on machines of their own, with VXLAN between them, without a coordinator."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines import description, placement
from dcnlab.lab.options import mtu
from dcnlab.lab.options.local_part import LocalPart
from tests.lab.underlay import Machine, underlay
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("parts")]

LAUNCH = """
import json, sys
from dcnlab.lab.contract.codec import decode_fields
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.client import Lab
spec, scheme, name, part = sys.argv[1:]
Lab.of_part(decode_fields(LocalPart, json.loads(part)), spec, scheme, name).start(detach=True)
"""


def local_parts(spec: str, machines: list[Machine], inner: int) -> list[LocalPart]:
    fabric = registry.fabric(spec)
    placed = placement.place(fabric, description.parse(str(len(machines))))
    assert placed.cut
    parts = []
    for number, machine in enumerate(machines):
        peers = {}
        for link in placed.external(number):
            far = next(placed.of[end.node] for end in (link.a, link.b) if placed.of[end.node] != number)
            peers[link.index] = machines[far].address
        parts.append(LocalPart(frozenset(placed.nodes(number)), peers, machine.address, 4789, inner))
    return parts


@pytest.fixture(
    scope="module", params=[("bcube:4,1", "brp"), ("fattree:4", "shortest")], ids=["bcube", "fattree"]
)
def two(request: pytest.FixtureRequest) -> Iterator[tuple[list[LocalPart], list[Lab], list[Machine]]]:
    """A fabric on two machines."""
    spec, scheme = request.param
    with underlay(2) as machines, ThreadPoolExecutor() as pool:
        parts = local_parts(spec, machines, mtu.over(1500, 4, mtu.MTU))
        names = [f"part-{secrets.token_hex(4)}-{number}" for number in range(2)]
        started = list(
            pool.map(
                lambda each: each[0].python(LAUNCH, spec, scheme, each[1], json.dumps(encode(each[2]))),
                zip(machines, names, parts, strict=True),
            )
        )
        try:
            assert [done.stderr for done in started] == ["", ""]
            yield parts, [Lab.attach(name) for name in names], machines
        finally:
            for name, done in zip(names, started, strict=True):
                if not done.returncode:
                    Lab.attach(name).stop()
        assert [line.split()[0].split("@")[0] for line in machines[0].links().splitlines()] == ["lo", "up0"]


def test_all_pairs_answer_across(two: tuple[list[LocalPart], list[Lab], list[Machine]]) -> None:
    parts, labs, _ = two
    fabric = registry.fabric(labs[0].config.topology)
    for part, lab in zip(parts, labs, strict=True):
        result = lab.pingall()
        servers = sum(node < fabric.servers for node in part.nodes)
        assert result.lost == []
        assert result.sent == servers * (fabric.servers - 1)


def test_full_packets_cross(two: tuple[list[LocalPart], list[Lab], list[Machine]]) -> None:
    """1450 bytes is what the underlay leaves; larger ones arrive in fragments."""
    parts, labs, _ = two
    fabric = registry.fabric(labs[0].config.topology)
    here = min(parts[0].nodes)
    there = min(node for node in parts[1].nodes if node < fabric.servers)
    for size in (1450 - 28, 4000):
        assert labs[0].ping(fabric.name(here), fabric.name(there), size=size).held


def test_tables_are_those_of_the_whole(two: tuple[list[LocalPart], list[Lab], list[Machine]]) -> None:
    parts, labs, _ = two
    fabric = registry.fabric(labs[0].config.topology)
    for part, lab in zip(parts, labs, strict=True):
        for switch in sorted(node for node in part.nodes if not fabric.is_server(node))[:2]:
            assert lab.tables(fabric.name(switch))["equal"]


def test_a_node_of_another_machine_is_one_line(two: tuple[list[LocalPart], list[Lab], list[Machine]]) -> None:
    parts, labs, _ = two
    with pytest.raises(LabError, match=r"is on another machine$"):
        labs[0].run(f"h{min(parts[1].nodes)}", ["true"])

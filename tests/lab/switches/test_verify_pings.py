"""Random entries in a real lab: the pings that are lost are those whose pairs `verify` finds violated."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.verify import Verify
from tests.ovs import poll

pytestmark = pytest.mark.lab

CONTROL = ("ovs-ofctl", "-O", "OpenFlow13")
Ports = dict[str, list[int]]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("fattree:4", "shortest", datapath="userspace") as one:
        yield one


def entry(draw: random.Random, ports: list[int], host: str) -> tuple[str, str]:
    """Match and actions of an entry that concerns all packets between some addresses."""
    port, out = draw.choice(ports), draw.choice(ports)
    match = draw.choice(
        (
            f"ip,nw_dst={host}",
            f"ip,nw_src={host}",
            f"ip,nw_dst={host}/30",
            f"ip,in_port={port},nw_dst={host}/29",
        )
    )
    other = draw.randrange(16) + 1
    actions = draw.choice(
        (
            "drop", f"output:{out}", f"output:{out}", "ALL", "IN_PORT", "group:9",
            f"set_field:0->in_port,output:{out}",
            f"push_vlan:0x8100,set_field:4101->vlan_vid,output:{out}",
            f"set_field:00:00:00:00:{other:02x}:01->eth_dst,output:{out}",
            f"set_field:10.0.0.{other}->ip_dst,output:{out}",
        )
    )  # fmt: skip
    return match, actions


def planted(lab: Lab, seed: int) -> list[tuple[str, str]]:
    """Some random entries, each of a priority of its own: (switch, what deletes it)."""
    draw, ports = random.Random(seed), Ports()
    for one in lab.stats().ports:
        ports.setdefault(one.switch, []).append(one.port)
    put = []
    for priority in range(60000, 60000 + draw.randint(1, 4)):
        switch = draw.choice(sorted(ports))
        match, actions = entry(draw, ports[switch], f"10.0.0.{draw.randrange(16) + 1}")
        buckets = ",".join(f"bucket=actions=output:{draw.choice(ports[switch])}" for _ in range(2))
        lab.run(switch, [*CONTROL, "add-group", switch, f"group_id=9,type=all,{buckets}"])
        text = f"priority={priority},{match}"
        done = lab.run(switch, [*CONTROL, "add-flow", switch, f"{text},actions={actions}"])
        assert done.returncode == 0, done.stderr
        put.append((switch, text))
    return put


@pytest.mark.parametrize("seed", range(8))
def test_pings_are_lost_where_pairs_are_violated(lab: Lab, seed: int) -> None:
    put = planted(lab, seed)
    try:
        proved = lab.measure(Verify())
        assert (proved.unanalysed, [one for one in proved.found if one.kind == "ambiguous"]) == (0, [])
        lost = {pair for one in proved.found if one.kind in ("loop", "lost") for pair in one.pairs}
        wrong = lost | {pair for one in proved.found if one.kind == "misdelivered" for pair in one.pairs}
        either = wrong | {(b, a) for a, b in wrong}  # the reply takes the other direction
        # A machine without time may lose others, too, but not again and again.
        poll(lambda: {*map(tuple, lab.pingall(timeout=0.3).lost)} <= either, 60)
        assert lost <= {*map(tuple, lab.pingall(timeout=0.3).lost)}
    finally:
        for switch, text in put:
            lab.run(switch, [*CONTROL, "--strict", "del-flows", switch, text])
            lab.run(switch, [*CONTROL, "del-groups", switch, "group_id=9"])

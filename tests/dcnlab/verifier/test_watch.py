"""Random changes of installed tables: what is checked again only in part is what a whole check finds."""

from __future__ import annotations

import random

import pytest

from addressing.scheme import Scheme
from dcnlab.verifier.checking import Check
from dcnlab.verifier.installed import Installed
from dcnlab.verifier.openflow import reading
from dcnlab.verifier.openflow.tables import Entry
from dcnlab.verifier.watch import Watch
from tests.addressing.cases import bound
from tests.dcnlab.verifier.test_installed import lines, network

CASES = [
    ("fattree:4", "shortest"), ("fattree:4", "ecmp"), ("fattree:4", "twolevel"), ("random:6,3,hosts=1", "tz"),
    ("bcube:4,1", "brp"), ("bcube:4,1", "wmgr"), ("dcell:4,1", "dfr"),
]  # fmt: skip


def text(draw: random.Random, scheme: Scheme, switch: int) -> str:
    """An entry as some other controller could install it."""
    fabric = scheme.fabric
    host = draw.randrange(fabric.servers) + 1
    port = draw.choice([number for number, _ in fabric.ports(switch)] + [99])
    match = draw.choice(
        (
            f"ip,nw_dst=10.0.0.{host}", f"ip,nw_dst=10.0.0.0/{draw.choice((28, 29, 30, 31))}",
            f"tcp,tp_dst={draw.choice((80, 443))}", f"ip,nw_src=10.0.0.{host}",
            f"dl_vlan={draw.choice((5, 6))}", f"udp,nw_dst=10.0.0.{host},tp_dst=53",
            f"in_port={port},ip,nw_dst=10.0.0.{host}", "dl_vlan=5,icmp",
            f"icmp,nw_tos=8,nw_dst=10.0.0.{host}",
        )
    )  # fmt: skip
    action = draw.choice(
        (
            f"output:{port}", f"output:{port}", "drop", "NORMAL", "CONTROLLER:128", f"IN_PORT,output:{port}",
            f"set_field:0->in_port,output:{port}", f"push_vlan:0x8100,set_field:4101->vlan_vid,output:{port}",
            f"pop_vlan,output:{port}", f"set_field:8->nw_tos,output:{port}",
            f"set_field:443->tcp_dst,output:{port}",
            f"set_field:10.0.0.{host}->ip_dst,output:{port}", "meter:3,goto_table:1", "goto_table:1",
        )
    )  # fmt: skip
    table = draw.choice((0, 0, 0, 1))
    if table and "goto" in action:
        action = "drop"
    return f"table={table},priority={draw.choice((2, 7, 60000, 60000))},{match} actions={action}"


def agree(watch: Watch) -> None:
    """The watch knows what a check of everything finds."""
    seen, own = watch.report(), watch.model
    model = Installed(own.scheme, own.links, own.switches, own.ours, own.lab)
    whole = Check(model).pairs(model.starts())
    assert set(seen.concerned) == set(whole.concerned)
    assert {(one.place, frozenset(one.pairs)) for one in seen.violations} == {
        (one.place, frozenset(one.pairs)) for one in whole.violations
    }
    assert seen.unanalysed == whole.unanalysed
    assert {words for _, words in own.ambiguous} == {words for _, words in model.ambiguous}
    assert own.metered.keys() == model.metered.keys()


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_what_is_checked_again_in_part_is_what_a_whole_check_finds(spec: str, name: str) -> None:
    draw, scheme = random.Random(spec + name), bound(spec, name)
    installed = network(scheme, lines(scheme))
    watch = Watch(installed)
    agree(watch)
    held = {node: [*switch.entries] for node, switch in installed.switches.items()}
    for turn in range(18):
        node = draw.choice([*held])
        removed, added = list[Entry](), list[Entry]()
        if draw.random() < 0.5 and held[node]:
            removed.append(held[node].pop(draw.randrange(len(held[node]))))
        if draw.random() < 0.7:
            one = reading.entry(text(draw, scheme, node))
            if all((one.match, one.priority) != (old.match, old.priority) for old in held[node]):
                held[node].append(one)
                added.append(one)
        watch.change(node, removed, added)
        if turn % 3 == 2:
            agree(watch)

"""`explain` where the tables are not ours: it names the entries that Open vSwitch matches."""

from __future__ import annotations

import json

import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab

pytestmark = pytest.mark.lab


def explain(lab: Lab, a: str, b: str) -> tuple[int, list[dict[str, object]], str]:
    done = dcnlab("explain", lab.config.name, a, b, "--json")
    answer = json.loads(done.stdout)
    return done.returncode, answer.get("steps", []), done.stderr


def add(lab: Lab, switch: str, flow: str) -> None:
    assert lab.run(switch, ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch, flow]).returncode == 0


def test_entries_by_hand_are_named_with_their_cookies() -> None:
    with Lab("fattree:4", controller="none") as lab:
        ports = {item["b"]: item["b_port"] for item in _links(lab, "h0")}
        (switch, to_h0), *_ = ports.items()
        other = next(name for name in ("h1", "h2", "h3") if switch in {i["b"] for i in _links(lab, name)})
        to_other = next(item["b_port"] for item in _links(lab, other))
        *_, last = lab.explain("h0", other)
        assert (last["node"], last["delivered"], last["entry"]) == (switch, False, "")
        add(lab, switch, f"cookie=0x77,priority=9,ip,in_port={to_h0},actions=output:{to_other}")
        code, steps, errors = explain(lab, "h0", other)
        assert (code, errors) == (0, "")
        assert [step["node"] for step in steps] == ["h0", switch, other]
        assert steps[1]["installed"] is True
        expected = f"cookie=0x77, priority=9,ip,in_port={to_h0} actions=output:{to_other}"
        assert str(steps[1]["entry"]).replace('in_port="', "in_port=") == expected
        assert steps[-1]["delivered"] is True
        add(lab, switch, "priority=9,arp,actions=flood")
        traced = lab.trace("h0", other).hops
        assert [hop.node for hop in traced] == ["h0", switch, other]
        add(lab, switch, f"cookie=0x78,priority=10,icmp,in_port={to_h0},actions=in_port")
        *_, last = lab.explain("h0", other)
        assert (last["node"], last["delivered"], last["reason"]) == ("h0", False, "is not the destination")


def test_relays_decide_by_the_scheme_and_switches_by_what_they_hold() -> None:
    with Lab("bcube:2,1", "brp", controller="none") as lab:
        route = lab.route("h0", "h3")
        *_, last = lab.explain("h0", "h3")
        assert (last["node"], last["reason"]) == (route[1], "drops: no entry matches")
        for switch in {route[1], route[3]}:
            for label_bit, port in ((0, 1), (1, 2)):
                bit = "4" if switch == route[3] else "8"  # the digit in which the two ports' servers differ
                match = f"dl_dst={bit if label_bit else '0'}2:00:00:00:00:00/{bit}3:00:00:00:00:00"
                add(lab, switch, f"cookie=0x77,priority=9,{match},actions=output:{port}")
        code, steps, errors = explain(lab, "h0", "h3")
        assert (code, errors) == (0, "")
        assert [step["node"] for step in steps] == route
        assert [step["installed"] for step in steps] == [None, True, None, True, None]
        assert all("cookie=0x77" in str(steps[at]["entry"]) for at in (1, 3))
        assert str(steps[2]["entry"]).startswith("label=")  # the rule of the relay


def test_an_entry_that_overrides_ours_is_named_with_the_one_it_overrides() -> None:
    with Lab("jellyfish:3,4,2") as lab:
        first, *_, last = lab.explain("h0", "h1")
        assert (first["overrides"], last["delivered"]) == ("", True)
        switch = lab.explain("h0", "h1")[1]
        elsewhere = next(
            port for port in lab.stats().ports if port.switch == switch["node"] and port.to == "h0"
        )
        entry = "priority=60000,ip,nw_dst=10.0.0.2"
        add(lab, switch["node"], f"cookie=0x77,{entry},actions=in_port")
        code, steps, errors = explain(lab, "h0", "h1")
        assert (code, errors) == (1, "dcnlab: not delivered: is not the destination\n")
        assert str(steps[1]["entry"]).startswith(f"cookie=0x77, {entry} actions=")
        assert (steps[1]["overrides"], steps[1]["installed"]) == (switch["entry"], True)
        assert str(steps[1]["reason"]).endswith(f"port {elsewhere.port} to h0")


def _links(lab: Lab, host: str) -> list[dict[str, object]]:
    from topos import registry

    fabric = registry.fabric(lab.config.topology)
    return [
        {"b": fabric.name(peer.node), "b_port": peer.number} for _, peer in fabric.ports(fabric.index(host))
    ]

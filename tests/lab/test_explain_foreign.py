"""`explain` where the tables are not ours: it names the entries that Open vSwitch matches."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dcnlab.lab.client import Lab

pytestmark = pytest.mark.lab


def explain(lab: Lab, a: str, b: str) -> tuple[int, list[dict[str, object]], str]:
    command = [sys.executable, "-m", "dcnlab.cli", "explain", lab.config.name, a, b, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    found = json.loads(done.stdout)
    return done.returncode, found.get("steps", []), done.stderr


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
        add(lab, switch, f"cookie=0x78,priority=10,icmp,in_port={to_h0},actions=in_port")
        *_, last = lab.explain("h0", other)
        assert (last["node"], last["delivered"], last["reason"]) == ("h0", False, "is not the destination")


def _links(lab: Lab, host: str) -> list[dict[str, object]]:
    from topos import registry

    fabric = registry.fabric(lab.config.topology)
    return [
        {"b": fabric.name(peer.node), "b_port": peer.number} for _, peer in fabric.ports(fabric.index(host))
    ]

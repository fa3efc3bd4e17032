"""Prices: counted on the networks themselves, equal to the published figures, and replaceable."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcnlab.evaluator.cost import SIZES, Bill, Unit, bill, comparison, design, fat_tree, read_prices
from topos.registry import fabric, parse
from topos.spec import SpecError

EXAMPLES = ["bcube:4,1", "hdcube:4,2", "dcell:3,1", "fattree:4", "torus:3x4", "hcn:3,1", "bcube:8,3,parts=4"]


def bills(servers: int) -> dict[str, Bill]:
    found = [bill(one, read_prices()) for one in comparison(servers)]
    return {
        ("4-port " if "4-port" in b.design.name else "") + b.design.name.split(":")[0].split(",")[0]: b
        for b in found
    }


@pytest.mark.parametrize("spec", EXAMPLES)
def test_a_design_has_the_parts_of_the_fabric(spec: str) -> None:
    network, what = fabric(spec), design(parse(spec))
    ports = [network.port_count(node) for node in range(network.size)]
    assert what.cables == sum(1 for _ in network.links())
    assert what.switch_ports == max(ports[network.servers :], default=0)
    assert what.server_ports == max(len(network.links_of(node)) for node in range(network.servers))


def test_the_published_figures_hold_and_hcn_has_two_ports() -> None:
    small, larger = bills(2048), bills(4096)
    assert {name: b.design.switches for name, b in small.items() if "4-port" not in name} == {
        "hdcube": 256, "dcell": 252, "hcn": 256, "bcube": 1280, "fat tree": 2304,
    }  # fmt: skip
    assert (larger["hdcube"].price, larger["hdcube"].watts) == (79_360, 36_096)
    assert (larger["hcn"].price, larger["hcn"].watts) == (61_440, 33_024)
    assert larger["4-port hcn"].price > larger["hdcube"].price > larger["hcn"].price


def test_a_fat_tree_of_three_levels_equals_the_family() -> None:
    one, other = fat_tree(128), design(parse("fattree:8"))
    assert (one.switches, one.cables, one.switch_ports) == (other.switches, other.cables, other.switch_ports)


@pytest.mark.parametrize("servers", SIZES)
def test_every_size_has_every_network_and_about_as_many_servers(servers: int) -> None:
    assert len(bills(servers)) == 6
    for one in bills(servers).values():
        assert servers * 0.98 <= one.design.servers <= servers


def test_a_price_list_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "switches: {4: {price: 1, watts: 2}}\nnics: {2: {price: 10, watts: 1}}\ncable: {price: 3, watts: 0}\n"
    )
    one = bill(design(parse("bcube:4,1")), read_prices(path))
    assert one.price == 8 * 1 + 16 * 10 + 32 * 3
    assert one.watts == 8 * 2 + 16 * 1
    # Five ports: two of the largest NICs, and the smallest for the fifth.
    assert read_prices(path).nic(5).price == 30
    path.write_text(path.read_text().replace("nics:", "cards:"))  # the old name
    assert read_prices(path).nic(5).price == 30
    # Eight ports: four switches with two ports down and two up each, and two that join them.
    assert read_prices(path).switch(8) == (8, Unit(price=6, watts=12))
    with pytest.raises(SpecError, match="no switch with 9 ports: the largest has 4"):
        bill(design(parse("bcube:9,1")), read_prices(path))
    path.write_text("switches: {4: {price: -1, watts: 2}}\nnics: {}\n")
    with pytest.raises(SpecError, match=r"switches\.4\.price"):
        read_prices(path)
    path.write_text("switches: [\n")
    with pytest.raises(SpecError, match="not YAML"):
        read_prices(path)
    with pytest.raises(SpecError, match="No such file"):
        read_prices(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="multiple of 2048"):
        list(comparison(1000))

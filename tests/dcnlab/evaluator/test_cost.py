"""Prices: counted on the networks themselves, equal to the published figures, and replaceable."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from dcnlab.evaluator.cost import SIZES, Bill, Unit, bill, comparison, design, fat_tree, read_prices
from topos.registry import fabric, parse
from topos.spec import SpecError

EXAMPLES = ["bcube:4,1", "hdcube:4,2", "dcell:3,1", "fattree:4", "torus:3x4", "hcn:3,1", "bcube:8,3,parts=4"]


def bills(servers: int) -> dict[str, Bill]:
    every = [bill(one, read_prices()) for one in comparison(servers)]
    return {
        ("4-port " if "4-port" in b.design.name else "") + b.design.name.split(":")[0].split(",")[0]: b
        for b in every
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


def test_cables_cost_by_their_length_where_it_is_stated(tmp_path: Path) -> None:
    path, prices = tmp_path / "n.yaml", tmp_path / "p.yaml"
    lengths = (2, "3.5", "1.5 m", "0.25km")
    links = "".join(f"- {{a: h{i}, b: s0, length: {text}}}\n" for i, text in enumerate(lengths))
    nodes = "".join(f"- {{name: h{i}, kind: server}}\n" for i in range(5))
    path.write_text(f"nodes:\n{nodes}- {{name: s0, kind: switch}}\nlinks:\n{links}- {{a: h4, b: s0}}\n")
    prices.write_text("switches: {8: {price: 1, watts: 0}}\nnics: {1: {price: 0, watts: 0}}\n"
                      "cable: {price: 4, watts: 0, metre: 2}\n")  # fmt: skip
    family = parse(f"file:{path}")
    one = bill(design(family), read_prices(prices))
    assert one.design.metres == 2 + 3.5 + 1.5 + 250
    assert one.price == 1 + 5 * 4 + 257 * 2
    assert any("length is used by cost only" in note for note in family.notes())


@pytest.mark.parametrize("ports", [49, 64, 100, 1000, 1152])
def test_switches_above_the_largest_are_clos_networks_of_it(ports: int) -> None:
    """Leaves with 24 ports down and 24 up, which spines of 48 ports take: nothing blocks."""
    size, unit = read_prices().switch(ports)
    leaves, spines = -(-ports // 24), -(-ports // 48)
    fabric_of = nx.MultiDiGraph()
    for leaf in range(leaves):
        for up in range(24):
            fabric_of.add_edge(f"l{leaf}", f"s{(leaf * 24 + up) % spines}")
    assert max(degree for _, degree in fabric_of.in_degree()) <= 48  # a spine's ports suffice
    assert (size, unit.price) == (ports, (leaves + spines) * 600)
    with pytest.raises(SpecError, match="no switch with 1153 ports"):
        read_prices().switch(1153)


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

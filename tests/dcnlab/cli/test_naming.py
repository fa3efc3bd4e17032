"""Names of nodes: numbers, coordinates and addresses mean the same everywhere."""

from __future__ import annotations

import itertools

import pytest

from addressing.fields import ipv4
from addressing.registry import bind
from dcnlab.lab import naming
from dcnlab.lab.errors import UsageError
from topos import registry

CASES = [("clot:4x4", "pow"), ("torus:3x5", "pow"), ("clot:2x4x2", "dor"), ("novacube:4x4", "greedy")]


@pytest.mark.parametrize(("topology", "scheme"), CASES)
def test_a_server_has_three_kinds_of_names(topology: str, scheme: str) -> None:
    fabric = registry.fabric(topology)
    bound = bind(scheme, fabric)
    for node in range(fabric.servers):
        coordinates = fabric.node(node).label
        place = tuple(map(int, coordinates.strip("()").split(",")))
        own, clot = ipv4.text(bound.ipv4(node)), ipv4.text(ipv4.from_coordinates(place))
        for name in (f"h{node}", coordinates, own, clot):
            assert naming.node(fabric, name, bound) == naming.server(fabric, name, bound) == node
        assert naming.node(fabric, clot) == node


def test_links_are_named_by_any_of_them() -> None:
    fabric = registry.fabric("clot:4x4")
    bound = bind("pow", fabric)
    (wanted,) = fabric.links_between(0, 4)
    for a, b in itertools.product(("h0", "(0,0)", "0.0.0.34"), ("h4", "(1,0)", "8.0.0.34")):
        assert naming.links(fabric, "link", (a, b), bound) == (wanted,)
        assert naming.links(fabric, "node", (a,), bound) == fabric.links_of(0)


@pytest.mark.parametrize(
    ("names", "nodes"),
    [("h3", [3]), ("h1*", [1, *range(10, 16)]), ("h[0-2],s?", [0, 1, 2, *range(16, 20)]), ("(1,1)", [5]),
     ("(1,1),h0,(0,0)", [0, 5]), ("h5,8.64.0.34", [5]), ("*", [*range(20)])],
)  # fmt: skip
def test_patterns_and_lists_name_several_nodes(names: str, nodes: list[int]) -> None:
    fabric = registry.fabric("clot:4x4")
    assert list(naming.nodes_matching(fabric, names, bind("pow", fabric))) == nodes


@pytest.mark.parametrize(
    ("names", "says"),
    [("x*", "no node matches x*"), ("h0,h77", "no node 'h77'"), ("h0,", "no node ''"), ("", "no node ''")],
)
def test_what_names_no_node_is_refused(names: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        naming.nodes_matching(registry.fabric("clot:4x4"), names)
    assert str(error.value).startswith(says)


@pytest.mark.parametrize(
    ("topology", "scheme", "name", "says"),
    [
        ("clot:4x4", "pow", "40.64.0.34", "stands for (5,1), which is not in clot:4x4"),
        ("clot:4x4", "pow", "8.64.0.50", "stands for (1,1,0), which is not in clot:4x4"),
        ("clot:4x4", "pow", "8.64.0.33", "last byte is invalid"),
        ("clot:4x4", "pow", "8.64.0.300", "is not an IPv4 address"),
        ("bcube:4,1", "brp", "10.0.0.17", "no server of bcube:4,1 has the address 10.0.0.17"),
        ("clot:4x4", "pow", "(4,0)", "no node '(4,0)'"),
    ],
)
def test_names_of_nobody_are_refused_in_one_line(topology: str, scheme: str, name: str, says: str) -> None:
    fabric = registry.fabric(topology)
    with pytest.raises(UsageError) as error:
        naming.node(fabric, name, bind(scheme, fabric))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "spec", ["random:10,3", "fattree:4", "hypercube:1,hosts=3", "smallworld:4x4", "bcube:2,1"]
)
def test_numbers_in_commands_are_no_servers(spec: str) -> None:
    """Coordinates of some families look like numbers: a program gets those as they are."""
    fabric = registry.fabric(spec)
    for word in ("3", "0.01", "0.0.1", "1.0.0", "10", "-1", "5/2", "1:2", "0,1"):
        assert naming.in_command(fabric, word) is None
    assert naming.in_command(fabric, "h1") == 1
    assert naming.in_command(fabric, "s0") is None
    assert naming.in_command(fabric, "-c") is None
    if fabric.family.label(1).startswith("("):
        assert naming.in_command(fabric, fabric.family.label(1)) == 1

"""CLOT (Wang et al.): the number of switches, the prices of Table 2, the addresses of Table 3, and the
probabilities of POW's example."""

from __future__ import annotations

import math
from collections.abc import Iterator

from addressing.fields import ipv4
from addressing.header import Forward, Header
from addressing.registry import bind
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
#: Table 1: the price per port by the number of ports, up to a limit.
_PER_PORT = ((16, 150), (32, 450), (math.inf, 650))
#: Table 2: servers; switches, ports and price of the fat tree; switches and price of CLOT.
_TABLE_2 = (
    (500, 199, 13, 376_086, 63, 9_450),
    (1_000, 315, 16, 750_047, 125, 18_750),
    (5_000, 922, 27, 11_262_119, 625, 93_750),
    (10_000, 1463, 34, 32_522_033, 1250, 187_500),
    (16_000, 2000, 40, 52_000_000, 2000, 300_000),
    (20_000, 2321, 43, 65_005_758, 2500, 375_000),
    (100_000, 6787, 74, 325_045_783, 12_500, 1_875_000),
    (200_000, 10_773, 93, 650_049_875, 25_000, 3_750_000),
)
_CLOT_PORTS = 8


def _ports(servers: int) -> float:
    """p with p^3 / 4 servers; not rounded, since the table computes with fractions of a port."""
    return float(round((4 * servers) ** (1 / 3), 9))


def _fat_tree_switches(servers: int) -> int:
    return math.ceil(round(5 * _ports(servers) ** 2 / 4, 6))


def per_port(ports: float) -> int:
    return next(price for limit, price in _PER_PORT if ports <= limit)


def fat_tree_price(servers: int) -> float:
    """The table's price: whole switches with a fractional number of ports, priced per port."""
    return _fat_tree_switches(servers) * _ports(servers) * per_port(_ports(servers))


def _whole_ports(servers: int) -> Reading:
    """The price with switches that can be bought: of the ports that the fat tree needs, rounded up."""
    ports = math.ceil(_ports(servers))
    return Reading("whole ports", _fat_tree_switches(servers) * ports * per_port(ports))


def _clot_switches(servers: int) -> int:
    """(k/2)^3 for k^3 servers, rounded up."""
    return math.ceil(servers / _CLOT_PORTS)


def _table2() -> Iterator[Row]:
    """The 32 cells, and the ports in brackets."""
    for servers, switches, ports, price, clot, clot_price in _TABLE_2:
        dollars = per_port(_CLOT_PORTS)
        cells: tuple[tuple[str, int, float, str], ...] = (
            ("switches of the fat tree", switches, _fat_tree_switches(servers), "ceil(5p^2/4), p = (4N)^(1/3)"),
            ("ports of a fat-tree switch", ports, round(_ports(servers)), "p = (4N)^(1/3), rounded"),
            ("switches of CLOT", clot, _clot_switches(servers), "ceil(N/8): (k/2)^3 switches of 8 ports"),
            ("price of the fat tree's switches, $", price, fat_tree_price(servers),
             "switches x p x price per port (Table 1), p not rounded"),
        )  # fmt: skip
        source = f"Table 2, row {servers:,}"
        for words, printed, measured, how in cells:
            claim = Claim(
                f"table2-{servers}-{words}", _PAPER, f"{words}, N = {servers}", printed, how,
                tolerance=0.5 if "price" in words else 0, source=source,
            )  # fmt: skip
            if measured == fat_tree_price(servers):
                yield Row.by_reading(claim, Reading("ports not rounded", measured), _whole_ports(servers))
            else:
                yield Row(claim, measured)
        claim = Claim(
            f"table2-{servers}-price of CLOT's switches, $", _PAPER,
            f"price of CLOT's switches, $, N = {servers}", clot_price,
            "Table 1 has $150 per port, Table 2 multiplies by the switches", source=source,
        )  # fmt: skip
        yield Row.by_reading(
            claim,
            Reading(f"${dollars} a switch", dollars * _clot_switches(servers)),
            Reading(f"${dollars} a port", dollars * _CLOT_PORTS * _clot_switches(servers)),
        )
    yield from _ratio()


def _ratio() -> Iterator[Row]:
    """The sentence about 200,000 servers; it loses a zero of the table's price."""
    fat, clot = fat_tree_price(200_000), per_port(_CLOT_PORTS) * _clot_switches(200_000)
    claim = Claim(
        "table2-ratio", _PAPER, "a fat tree for 200,000 servers costs about 173 times as much", 173,
        "quotient of the prices", tolerance=0.5, source='section 4.2.5: "around 173 times cheaper"',
    )  # fmt: skip
    yield Row.by_reading(
        claim, Reading("$150 a switch", fat / clot), Reading("$150 a port", fat / clot / _CLOT_PORTS)
    )
    claim = Claim(
        "table2-text", _PAPER, "price of CLOT's switches for 200,000 servers in the text, $", 375_000,
        "as in Table 2, which has 3,750,000", source='section 4.2.5: "CLOT only needs 375,000$"',
    )  # fmt: skip
    yield Row(claim, clot)


def _switches() -> Iterator[Row]:
    for k, n in ((4, 1), (4, 2), (8, 2), (4, 3), (6, 3), (8, 3), (16, 3), (4, 4)):
        network = fabric(f"clot:{'x'.join([str(k)] * n)}")
        ports = {len(tuple(network.ports(switch))) for switch in range(network.servers, network.size)}
        for words, printed, measured, where in (
            ("switches, (k/2)^n", (k // 2) ** n, network.switches, "section 4.2.5"),
            ("ports of every switch, 2^n", 2**n, max(ports) if len(ports) == 1 else math.nan,
             "section 4.1.2 and Theorem 3.2"),
        ):  # fmt: skip
            claim = Claim(
                f"switches-{k}-{n}-{words}", _PAPER, f"{words}, k = {k}, n = {n}", printed,
                "counted in the topology", source=where,
            )  # fmt: skip
            yield Row(claim, measured)


def _table3() -> Iterator[Row]:
    """The dimension that an address with these bits has; an address is six slices of five bits and the flag."""
    for flag, first, dimensions in ((0b11, 0, 6), *((0b10, count, count) for count in (5, 4, 3, 2, 1))):
        bits = f"flag {flag:02b}, first three bits {'xxx' if flag == 0b11 else f'{first:03b}'}"
        claim = Claim(
            f"table3-{dimensions}", _PAPER, f"dimensions of an address with {bits}", dimensions,
            "decoded by the address codec", source=f"Table 3, row {7 - dimensions}",
        )  # fmt: skip
        yield Row(claim, len(ipv4.to_coordinates(8 << 24 | first << 4 | flag)))
    claim = Claim(
        "servers-6d", _PAPER, "addresses of a 6-D CLOT", 1_073_741_824, "six slices of five bits",
        source='section 5.2: "2^30 = 1,073,741,824"',
    )  # fmt: skip
    yield Row(claim, (1 << ipv4.SLICE_BITS) ** 6)


def _pow_example() -> Iterator[Row]:
    """S has three torus neighbours that are nearer to D, and the switch."""
    scheme = bind("pow", fabric("clot:8x8"))
    network = scheme.fabric
    source, target = network.index("(0,0)"), network.index("(3,4)")
    weights = {
        network.peer(source, action.port): 100 * weight
        for action, weight in scheme.next_hops(source, Header(scheme.label(target)))
        if isinstance(action, Forward)
    }
    servers = sorted(w for end, w in weights.items() if end is not None and network.is_server(end.node))
    switch = [w for end, w in weights.items() if end is not None and not network.is_server(end.node)]
    for words, printed, measured, spread in (
        ("candidates of S", 4, len(weights), 0),
        ("probability of S1, S2 and S4, %, the least", 8.33, min(servers), 0.005),
        ("probability of S1, S2 and S4, %, the largest", 8.33, max(servers), 0.005),
        ("probability of the switch S5, %", 75.0, sum(switch), 0.005),
    ):
        claim = Claim(
            f"eq12-{words}", _PAPER, f"{words}: 8 x 8, from (0,0) to (3,4)", printed,
            "weights of the scheme pow", tolerance=spread,
            source="section 7.1, example of Eq. 12 and Fig. 12",
        )  # fmt: skip
        yield Row(claim, measured)


EXPERIMENTS = (
    Experiment("clot-switches", _PAPER, "number and size of the switches", _switches),
    Experiment("clot-table2", _PAPER, "Table 2: switches and their price against a fat tree", _table2),
    Experiment("clot-table3", _PAPER, "Table 3: dimensions in an address", _table3),
    Experiment("clot-eq12", _PAPER, "probabilities of POW (Eq. 12)", _pow_example),
)

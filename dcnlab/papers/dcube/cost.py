"""DCube (Guo et al.), Figures 6 to 8: switches, wires and NIC ports, price and power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from dcnlab.evaluator.cost import SIZES, Bill, bill, comparison, design, read_prices
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from topos.registry import parse

_PAPER = "Guo et al., DCube"
_claim = partial(Claim.of, _PAPER)
_COUNTED = "counted in the topologies (fat tree: closed form)"
_BILLED = f"{_COUNTED}, with the unit prices of the paper"
_FIVE = "Section 5, 'We first consider five networking structures'"
_THEN = "Section 5, 'We then consider DCube, DCell, HCN and BCube'"
_CABLING = "Section 5, Fig. 7, 'More precisely, Fig. 7 (a) and Fig. 7(b)'"
_CHEAPER = "Section 5, Figs. 6 and 8, 'As shown in Fig. 6 and Fig. 8'"
_FEWER = "Summary and Fig. 6, 'DCube significantly reduces the required wires and switches'"
#: The structures with 16-port switches that the paper names for BCube, by number of servers.
_SIXTEEN = {4096: "bcube:16,2", 8192: "bcube:16,3,parts=2", 12288: "bcube:16,3,parts=3"}
_HCN_READINGS = {"HCN (4-port NICs)": "4-port NICs for HCN, as printed", "HCN": "HCN's 2 ports"}


@cache
def bills(servers: int) -> dict[str, Bill]:
    """The comparison at one size; HCN also with the 4-port NICs that the paper assumes for it."""
    names = ("DCube", "BCube", "DCell", "HCN", "HCN (4-port NICs)", "fat tree")
    prices = read_prices()
    return dict(zip(names, (bill(one, prices) for one in comparison(servers)), strict=True))


def _ratio(figure: Callable[[Bill], float], other: str, size: int) -> float:
    """DCube's figure per server divided by another network's: below 1 where DCube needs less."""
    mine, theirs = (figure(bills(size)[name]) / bills(size)[name].design.servers for name in ("DCube", other))
    return mine / theirs


def _ratios(
    what: str, others: tuple[str, ...], figure: Callable[[Bill], float], source: str, how: str
) -> Iterator[Row]:
    for other in others:
        for size in SIZES:
            statement = f"{what} per server of DCube divided by that of {other}, {size} servers, is below 1"
            if source == _CABLING:
                statement += " (the paper: considerably)"
            claim = _claim(f"{what}-{other}-{size}", source, statement, how, 1, "<")
            if other == "HCN" and what in ("price", "power"):  # the price of its NICs depends on their ports
                readings = (Reading(text, _ratio(figure, name, size)) for name, text in _HCN_READINGS.items())
                yield Row.by_reading(claim, *readings)
            else:
                yield Row(claim, _ratio(figure, other, size))


def _ports(one: Bill) -> float:
    return one.design.server_ports * one.design.servers


def _links(one: Bill) -> float:
    return one.design.cables


def _parts() -> Iterator[Row]:
    for name, printed in (("DCube", 256), ("DCell", 252), ("HCN", 256), ("BCube", 1280), ("fat tree", 2304)):
        claim = _claim(
            f"switches-{name}", _FIVE, f"8-port switches of {name}, 2048 servers", _COUNTED, printed,
        )  # fmt: skip
        yield Row(claim, bills(2048)[name].design.switches)
    for size, cells in ((2048, 28), (4096, 15), (8192, 30), (12288, 45)):
        n = 8 if size == 2048 else 16
        statement = f"DCell({n},1)s in the partial DCell({n},2) of {size} servers"
        claim = _claim(f"dcells-{size}", _FIVE if n == 8 else _THEN, statement, _COUNTED, cells)
        yield Row(claim, bills(size)["DCell"].design.servers / (n * (n + 1)))
    yield from _ratios("switches", ("BCube", "fat tree"), lambda b: b.design.switches, _FEWER, _COUNTED)
    yield from _ratios("wires", ("BCube", "fat tree"), _links, _FEWER, _COUNTED)


def _cabling() -> Iterator[Row]:
    for name, printed in (("DCube", 2), ("DCell", 3), ("HCN", 4), ("BCube", 4), ("fat tree", 1)):
        claim = _claim(
            f"ports-{name}", _FIVE, f"NIC ports of a server of {name}, 2048 servers", _COUNTED, printed
        )
        yield Row(claim, bills(2048)[name].design.server_ports)
    how = f"{_COUNTED}; HCN's servers have two ports"
    both = ("BCube", "DCell")
    yield from _ratios("NIC ports", both, _ports, _CABLING, how)
    yield from _ratios("links", both, _links, _CABLING, how)
    for what, figure in (("NIC ports", _ports), ("links", _links)):
        for size in SIZES:
            statement = f"{what} per server of DCube divided by those of HCN, {size} servers: similar"
            claim = _claim(f"{what}-HCN-{size}", _CABLING, statement, how, 1)
            yield Row(replace(claim, tolerance=0.05), _ratio(figure, "HCN", size))


def _costs() -> Iterator[Row]:
    for name in ("DCube", "HCN"):
        source, size = f"{_THEN}; drawn in Figs. 6 and 8", 4096
        claim = _claim(f"price-{name}", source, f"price of {name}, {size} servers", _BILLED)
        yield Row(claim, bills(size)[name].price)
        claim = _claim(f"watts-{name}", source, f"power of {name}, {size} servers", _BILLED)
        yield Row(claim, bills(size)[name].watts)
    others = ("BCube", "DCell", "HCN")
    for spec in ("bcube:8,3", "bcube:16,2"):
        source = f"{_THEN}; drawn in Fig. 8"
        claim = _claim(f"price-{spec}", source, f"price of {spec}, 4096 servers", _BILLED)
        yield Row(claim, bill(design(parse(spec)), read_prices()).price)
    yield from _ratios("price", others, lambda b: b.price, _CHEAPER, _BILLED)
    yield from _ratios("power", others, lambda b: b.watts, _CHEAPER, _BILLED)
    yield from _sixteen_ports()


def _sixteen_ports() -> Iterator[Row]:
    """BCube with 16-port switches compared with BCube with 8-port switches."""
    source = "Section 5, Fig. 8, 'Additionally, we find that the BCube structure with 16-port switches'"
    for size, spec in _SIXTEEN.items():
        large, small = bill(design(parse(spec)), read_prices()), bills(size)["BCube"]
        for what, mine, theirs in (
            ("price", large.price, small.price),
            ("power", large.watts, small.watts),
        ):
            statement = f"{what} of BCube with 16-port switches minus that with 8-port switches, {size} servers"
            yield Row(_claim(f"{what}-16-{size}", source, statement, _BILLED, 0, ">"), mine - theirs)


def _size_chart(title: str, label: str, figure: Callable[[Bill], float], nics: bool = True) -> Chart:
    """One figure over the sizes; ``nics`` includes HCN with 4-port NICs."""
    names = [name for name in bills(SIZES[0]) if nics or "NICs" not in name]
    series = tuple(Series(name, SIZES, tuple(figure(bills(size)[name]) for size in SIZES)) for name in names)
    designs = ", ".join(bill.design.name for name, bill in bills(SIZES[-1]).items() if "NICs" not in name)
    priced = "unit prices of the paper; " if nics else ""
    return Chart(title, "servers (nominal)", label, series, f"{priced}at {SIZES[-1]:,} servers: {designs}")


def _part_charts() -> tuple[Chart, ...]:
    return (
        replace(_size_chart("Switches", "switches", lambda b: b.design.switches, nics=False), log_y=True),
        _size_chart("Wires", "wires", _links, nics=False),
    )


def _cabling_charts() -> tuple[Chart, ...]:
    return (
        _size_chart("NIC ports", "ports", _ports, nics=False),
        _size_chart("Links", "links", _links, nics=False),
    )


def _cost_charts() -> tuple[Chart, ...]:
    return (
        _size_chart("Price of switches and NICs", "price, $", lambda b: b.price),
        _size_chart("Power of switches and NICs", "power, W", lambda b: b.watts),
    )


EXPERIMENTS = (
    Experiment("dcube-fig6", _PAPER, "switches and wires (Fig. 6)", _parts, _part_charts),
    Experiment("dcube-fig7", _PAPER, "NIC ports and links (Fig. 7)", _cabling, _cabling_charts),
    Experiment("dcube-fig8", _PAPER, "price and power (Figs. 6 and 8)", _costs, _cost_charts),
)

"""DCube (Guo et al.): Theorem 2, the shifted sequences of Theorem 6, HCN's and others' ABT, trunks of ports."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import networkx as nx

from addressing.algorithms import mobius
from addressing.algorithms.mobius import Symbol
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.dcube.throughput import abt
from dcnlab.papers.measure import optimal_abt
from topos.registry import fabric

_PAPER = "Guo et al., DCube"
_claim = partial(Claim.of, _PAPER)
_TRUNK = 3
#: Of more servers the optimum takes minutes.
_OPTIMAL = 1000


def _instead(symbol: Symbol, at: int) -> tuple[Symbol, Symbol]:
    """Theorem 2: the two symbols that replace an inapplicable one, in the order of its proof."""
    below = Symbol(symbol.index - 1, symbol.index > 1)
    other = Symbol(symbol.index, not symbol.wide)
    return (below, other) if at >> symbol.index & 1 else (other, below)


def _theorem_2() -> Iterator[Row]:
    for m in (3, 5, 8):
        wrong = 0
        for at, index, wide in itertools.product(range(2**m), range(1, m), (False, True)):
            symbol = Symbol(index, wide)
            if not symbol.applies(at, m):
                first, second = _instead(symbol, at)
                applies = first.applies(at, m) and second.applies(at ^ first.bits, m)
                wrong += not applies or first.bits ^ second.bits != symbol.bits
        claim = _claim(
            f"theorem-2-{m}", "section 4, Theorem 2",
            f"inapplicable symbols that the two do not replace, m = {m}",
            "all addresses and symbols", 0,
        )  # fmt: skip
        yield Row(claim, wrong)


def switches_along(at: int, symbols: Sequence[Symbol], m: int) -> list[int]:
    """The switches of a sequence of symbols, where an inapplicable one is replaced by Theorem 2."""
    switches = [at]
    for symbol in symbols:
        for one in (symbol,) if symbol.applies(at, m) else _instead(symbol, at):
            at ^= one.bits
            switches.append(at)
    return switches


def applicable(at: int, index: int, m: int) -> Symbol:
    """The symbol of a dimension that applies at a switch."""
    return next(s for s in (Symbol(index, False), Symbol(index, index > 0)) if s.applies(at, m))


def _exact_route(a: int, b: int, m: int) -> list[Symbol]:
    """The symbols of Algorithm 3's route: the initial routing sequence."""
    symbols = []
    for index in mobius.dimensions(a, b, m):
        symbols.append(applicable(a, index, m))
        a ^= symbols[-1].bits
    return symbols


def shifts_are_parallel(a: int, b: int, symbols: Sequence[Symbol], m: int) -> bool:
    """Whether all cyclic shifts of a sequence lead from a to b and share no switch in between."""
    paths = [switches_along(a, [*symbols[at:], *symbols[:at]], m) for at in range(len(symbols))]
    inner = [set(path[1:-1]) for path in paths]
    return all(path[-1] == b for path in paths) and not any(
        one & other for one, other in itertools.combinations(inner, 2)
    )


def _theorem_6() -> Iterator[Row]:
    for m in (3, 4, 5, 6):
        pairs = list(itertools.permutations(range(2**m), 2))
        printed = sum(shifts_are_parallel(a, b, _exact_route(a, b, m), m) for a, b in pairs)
        expanded = sum(shifts_are_parallel(a, b, mobius.expansion(a ^ b), m) for a, b in pairs)
        claim = _claim(
            f"shifts-{m}", "section 4, proof of Theorem 6: '... which will be parallel'",
            f"pairs of switches, %, whose shifted sequences give parallel paths, m = {m}",
            "all pairs; inapplicable symbols replaced by Theorem 2", 100,
        )  # fmt: skip
        yield Row.by_reading(
            claim,
            Reading("shifts of exact-routing's sequence, as printed", 100 * printed / len(pairs)),
            Reading("shifts of the minimal expansion", 100 * expanded / len(pairs)),
        )


def _throughput() -> Iterator[Row]:
    for spec, levels in (("hcn:4,2", 2), ("hcn:8,2", 2), ("hcn:8,3", 3)):
        servers = fabric(spec).servers
        claim = _claim(
            f"hcn-{spec}", "section 5: 'that of HCN is N / (2/3 x 2^k2)'",
            f"all-to-all ABT of {spec} over N / (2/3 x 2^{levels})",
            "all shortest paths; of at most 512 servers also the optimum, between two bounds", 1,
        )  # fmt: skip
        formula = servers / (2 / 3 * 2**levels)
        readings = [Reading("split evenly over all shortest paths", abt(spec) / formula)]
        if servers < _OPTIMAL:
            low, high = (bound / formula for bound in optimal_abt(spec))
            readings.append(Reading("optimal routing", low, (low, high)))
        yield Row.by_reading(claim, *readings)
    per_server = {
        spec: abt(spec) / fabric(spec).servers for spec in ("mdcube:8,1", "fattree:8", "bcube:8,2", "bcube:8,3")
    }
    for spec in ("fattree:8", "bcube:8,2", "bcube:8,3"):
        claim = _claim(
            f"outperform-{spec}", "section 5: 'Fat-Tree and BCube outperform M-DCube in terms of the ABT'",
            f"ABT per server of {spec} over that of mdcube:8,1", "split evenly over all shortest paths", 1, ">",
        )  # fmt: skip
        yield Row(claim, per_server[spec] / per_server["mdcube:8,1"])


def _trunk() -> Row:
    """Two servers that are joined by q - 1 links, over which packets are spread."""
    pair = nx.MultiGraph([(0, 1)] * _TRUNK)
    report = evaluate(pair, ("ecmp",), metrics=("throughput",), flows="split").as_dict()
    claim = _claim(
        "trunk", "section 6: 'three 1Gbps interfaces can be bundled into a virtual interface at 3Gbps'",
        f"rate between two servers with {_TRUNK} links, in that of a link",
        "max-min fair, flows split over the links",
        _TRUNK,
    )  # fmt: skip
    return Row(claim, report["schemes"][0]["throughput"]["least"])


def _rows() -> Iterator[Row]:
    yield from _theorem_2()
    yield from _theorem_6()
    yield from _throughput()
    yield _trunk()


EXPERIMENTS = (
    Experiment("dcube-statements", _PAPER, "Theorems 2 and 6, ABT of others, trunks of ports", _rows),
)

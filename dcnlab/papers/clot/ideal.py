"""CLOT (Wang et al.): bisection width (Theorem 3.4) and ideal throughput (Eqs. 7 to 10)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack

from addressing.registry import bind
from dcnlab.evaluator.graph.bisection import Bisection, bisection
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Relation, Row
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
#: Up to so many servers all halves can be tried.
_ALL_HALVES = 16
_SIZES = ((4, 1), (4, 2), (6, 2), (8, 2), (4, 3), (6, 3), (8, 3))
_CUT = "twice the links of the best cut found into halves of the servers; proven lower bound in the statement"
_LP = (
    "exact: linear program over all routings of uniform all-to-all traffic, every server to every server"
    " (itself included) at rate 1, channels of bandwidth 1"
)


@cache
def _bisection(spec: str) -> Bisection:
    return bisection(fabric(spec))


def _spec(family: str, k: int, n: int) -> str:
    return f"{family}:{'x'.join([str(k)] * n)}"


def _bisections() -> Iterator[Row]:
    """Twice the number of links in the cut: the paper counts each direction of a link."""
    for k, n in ((4, 1), (4, 2), (4, 3), (6, 2), (8, 2), (8, 3)):
        halves = _bisection(_spec("clot", k, n))
        claim = Claim(
            f"bisection-{k}-{n}", _PAPER,
            f"bisection k^n + 4k^(n-1), k = {k}, n = {n} (at least {2 * halves.bound})",
            k**n + 4 * k ** (n - 1), _CUT, source="section 4.2.2, Theorem 3.4",
        )  # fmt: skip
        known = Independent.by(oracles.clot_bisection, k, n) if k**n <= _ALL_HALVES else None
        yield Row(claim, 2 * halves.cut, independent=known)
    yield from _improvements()


def _improvements() -> Iterator[Row]:
    """Over the torus, whose bisection of 4k^(n-1) is printed beside it."""
    for k, n in ((4, 2), (8, 2), (10, 2), (4, 3)):
        torus, clot = (2 * _bisection(_spec(family, k, n)).cut for family in ("torus", "clot"))
        claim = Claim(
            f"bisection-torus-{k}-{n}", _PAPER, f"bisection of the torus 4k^(n-1), k = {k}, n = {n}",
            4 * k ** (n - 1), _CUT, source="section 4.2.2, after Theorem 3.4",
        )  # fmt: skip
        yield Row(claim, torus)
        relation: Relation = "=" if k == 10 else ">="
        claim = Claim(
            f"bisection-gain-{k}-{n}", _PAPER, f"bisection above the torus's, %, k = {k}, n = {n}",
            250 if k == 10 else 25, _CUT, relation, 0.5,
            source='section 4.2.2: "k=10 implies a 250% increment"' if k == 10
            else 'section 4.2.2: "by at least ... 25%"; section 9',
        )  # fmt: skip
        yield Row(claim, 100 * (clot / torus - 1))


@cache
def channel_load(family: str, k: int, n: int) -> float:
    """The largest load of a channel under uniform traffic, by the best routing.

    The translations of the torus map channels to channels, and averaging a routing over them raises no
    load.  So one source suffices: a class of channels carries as much per channel as the flow of one
    source crosses channels of that class, times servers per channel of the class.
    """
    network = fabric(_spec(family, k, n))
    adjacency, servers = network.adjacency, network.servers
    tail = np.repeat(np.arange(network.size), np.diff(adjacency.start))
    used = np.flatnonzero(adjacency.peer >= 0)
    tail, head = tail[used], adjacency.peer[used]
    port = used - adjacency.start[tail] + 1
    # The class of a channel: its port at a server; all channels from switches to servers are one class.
    kind = np.where(tail < servers, port, 0)
    kinds = np.unique(kind)
    count, ones = len(used), np.ones(len(used))
    flow = coo_array(
        (np.concatenate([ones, -ones]), (np.concatenate([tail, head]), np.tile(np.arange(count), 2))),
        shape=(network.size, count),
    )
    supply = np.zeros(network.size)
    supply[:servers] = -1 / servers
    supply[0] += 1
    per = {one: servers / int((kind == one).sum()) for one in kinds.tolist()}
    rows = np.searchsorted(kinds, kind)
    weights = coo_array(
        ([per[one] for one in kind.tolist()], (rows, np.arange(count))), shape=(len(kinds), count)
    )
    limit = coo_array(-np.ones((len(kinds), 1)))
    conserved = hstack([flow, coo_array((network.size, 1))])
    cost = np.zeros(count + 1)
    cost[-1] = 1
    solution = linprog(  # type: ignore[call-overload]  # the stubs know no sparse arrays
        cost, A_ub=hstack([weights, limit]).tocsr(), b_ub=np.zeros(len(kinds)),
        A_eq=conserved.tocsr(), b_eq=supply, method="highs",
    )  # fmt: skip
    return round(float(solution.fun), 9)


def _ideal() -> Iterator[Row]:
    for k, n in _SIZES:
        load = channel_load("clot", k, n)
        for number, relation, printed, measured, words in (
            ("8", ">=", k / (2 * k + 8), load, "largest channel load, at least k/(2k+8)"),
            ("9", "<=", k / (k + 4), load, "largest channel load, at most k/(k+4)"),
        ):  # fmt: skip
            claim = Claim(
                f"eq{number}-{k}-{n}-{relation}", _PAPER, f"{words}, k = {k}, n = {n}", printed, _LP,
                ">=" if relation == ">=" else "<=", source=f"section 4.2.3, Eq. {number}",
            )  # fmt: skip
            yield Row(claim, measured)
        claim = Claim(
            f"eq10-{k}-{n}", _PAPER, f"ideal throughput, from (k+4)/k to (2k+8)/k, k = {k}, n = {n}",
            (k + 4) / k, _LP, upper=(2 * k + 8) / k, source="section 4.2.3, Eq. 10",
        )  # fmt: skip
        yield Row(claim, 1 / load)
        claim = Claim(
            f"ideal-torus-{k}-{n}", _PAPER, f"ideal throughput of the torus, from 4/k to 8/k, k = {k}, n = {n}",
            4 / k, _LP, upper=8 / k, source="section 4.2.3, after Eq. 10",
        )  # fmt: skip
        yield Row(claim, 1 / channel_load("torus", k, n))
    yield _valiant()
    yield from _gains()


def _valiant() -> Row:
    """An odd radix, where dimension-order routing, by which Valiant's legs go, loads all links equally."""
    network = fabric(_spec("torus", 5, 2))
    loads = link_loads(bind("valiant", network), choose(network, "servers", 1))
    claim = Claim(
        "valiant-torus", _PAPER, "normalised throughput of Valiant routing on a torus, %, k = 5, n = 2", 50,
        "capacity (by linear programming) over the largest link load of the scheme valiant, which spreads any"
        " traffic alike; it draws neither source nor destination as its stop, hence a little more than half",
        tolerance=1, source='section 4.2.3: "can reach as high as 50%"',
    )  # fmt: skip
    load = float(loads.max()) / network.servers
    return Row(claim, round(100 * channel_load("torus", 5, 2) / load, 3))


def _gains() -> Iterator[Row]:
    """62.5 % is 50 % (Valiant on a torus) times 1.25; the conclusion prints 65 %."""
    for k, n in _SIZES:
        ratio = channel_load("torus", k, n) / channel_load("clot", k, n)
        claim = Claim(
            f"normalized-{k}-{n}", _PAPER,
            f"normalised worst-case throughput at least 62.5 %, k = {k}, n = {n}", 62.5,
            _LP + "; half of it, as by Valiant routing", ">=", 0.05,
            source='section 4.2.3: "achieved by at least 62.5%"',
        )  # fmt: skip
        yield Row.by_reading(
            claim, Reading("of the torus's capacity", 50 * ratio), Reading("of CLOT's own capacity", 50.0)
        )
        claim = Claim(
            f"gain-{k}-{n}", _PAPER, f"ideal throughput, at least 65 %, k = {k}, n = {n}", 65, _LP, ">=", 0.5,
            source='section 9: "increases the ideal throughput to be at least 65%"',
        )  # fmt: skip
        yield Row.by_reading(
            claim,
            Reading("above the torus's", 100 * (ratio - 1)),
            Reading("half of it, of the torus's capacity", 50 * ratio),
        )


EXPERIMENTS = (
    Experiment("clot-bisection", _PAPER, "bisection width (Theorem 3.4)", _bisections),
    Experiment("clot-eq10", _PAPER, "ideal throughput (Eqs. 8 to 10)", _ideal),
)

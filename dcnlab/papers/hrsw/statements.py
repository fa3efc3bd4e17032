"""HR-SW (Kieu et al.): sentences without a number about path lengths and tables."""

from __future__ import annotations

from collections.abc import Iterator

from addressing.schemes.hrsw import Hrsw
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from dcnlab.papers.hrsw.comparison import measured
from dcnlab.papers.hrsw.small_worlds import PAPER
from dcnlab.papers.measure import from_node, scheme_or_none
from topos.registry import fabric

#: Grids of clusters of 64 x 64 switches, from 1 cluster to 4096.
_GRIDS = ("1x1", "2x2", "4x4", "8x8", "16x16", "32x32", "64x64")


def entries(grid: str, scheme: str = "hrsw") -> int:
    """The entries of a switch of 64 x 64 switches with a grid of clusters; all switches have as many."""
    bound = scheme_or_none(f"smallworld:64x64,clusters={grid},hosts=1", scheme)
    assert bound is not None
    return sum(1 for _ in bound.forwarding_classes(bound.fabric.servers))


def _rows() -> Iterator[Row]:
    claim = Claim(
        "similar", PAPER, "average path of HR-SW divided by that of TZ-Random, 8192 switches", 1,
        "all switches to 512 random ones, seed 1; similar read as within 10 %", tolerance=0.1,
        source="section I, second contribution; section IV-B",
    )  # fmt: skip
    ours, theirs = (measured(name, 8192).mean for name in ("HR-SW, 16 clusters", "TZ-Random"))
    yield Row(claim, ours / theirs)
    sizes = {int(grid.split("x")[0]) ** 2: entries(grid) for grid in _GRIDS}
    claim = Claim(
        "least", PAPER, "clusters with the smallest table, 4096 switches", 64,
        f"the entries of a switch, of {', '.join(map(str, sizes))} clusters",
        source="section IV-A: c = sqrt(n)",
    )  # fmt: skip
    yield Row(claim, min(sizes, key=lambda count: sizes[count]))
    claim = Claim(
        "same", PAPER, "table of the set mode over that of HR-SW, 4096 switches, 16 clusters", 1,
        "the entries of a switch", source="section IV-B: all hierarchical schemes need the same table",
    )  # fmt: skip
    yield Row(claim, entries("4x4", "hrsw-set") / entries("4x4"))
    yield from _equation_1()
    yield from _figure_2()
    yield from cubes()


def _equation_1() -> Iterator[Row]:
    for grid in ("1x1", "2x2", "4x4", "8x8"):
        for hosts in (1, 2, 4):
            bound = scheme_or_none(f"smallworld:16x16,clusters={grid},hosts={hosts}", "hrsw")
            assert bound is not None
            clusters = int(grid.split("x")[0]) ** 2
            claim = Claim(
                f"eq1-{grid}-{hosts}", PAPER, f"table entries, 256 switches, c = {clusters}, m = {hosts}",
                clusters - 1 + 256 // clusters - 1 + hosts,
                "the largest number of forwarding classes of a switch",
                source="section III-C, Eq. 1",
            )  # fmt: skip
            switches = range(bound.fabric.servers, bound.fabric.size)
            yield Row(claim, max(sum(1 for _ in bound.forwarding_classes(at)) for at in switches))


#: Figure 2(b): an address as printed, its bits, and the entries that it stands for.
_FIGURE_2 = (
    ("11 10 00 to 11 10 11", 0b1110, 4, 4), ("11 00 XX", 0b1100, 4, 1), ("11 01 XX", 0b1101, 4, 1),
    ("00 XX XX", 0b00, 2, 1), ("10 XX XX", 0b10, 2, 1),
)  # fmt: skip
#: Cluster 11, switch 10.
_SWITCH, _SWITCH_BITS = 0b1110, 4


def _figure_2() -> Iterator[Row]:
    """The table of a switch of 4 clusters of 4 switches with 4 hosts each.

    Hosts are numbered from 1 here, since host 0 stands for the switch: an address has one bit more than the
    figure's, and the hosts' entries are found by their prefix.
    """
    bound = scheme_or_none("smallworld:4x4,clusters=2x2,hosts=4", "hrsw")
    assert isinstance(bound, Hrsw)
    switches, hosts = range(bound.fabric.servers, bound.fabric.size), bound.host_bits
    at = next(node for node in switches if bound.vertex_label(node) & (1 << _SWITCH_BITS) - 1 == _SWITCH)
    entries = [pattern for pattern, _ in bound.forwarding_classes(at)]
    for printed, prefix, bits, count in _FIGURE_2:
        shift = hosts + _SWITCH_BITS - bits
        free = 1 if prefix == _SWITCH else 1 << shift  # a host's address is compared to its last bit
        matching = [
            one
            for one in entries
            if one.label >> shift & (1 << bits) - 1 == prefix and one.mask & -one.mask == free
        ]
        claim = Claim(
            f"fig2-{prefix:b}", PAPER, f"entries of switch 11 10 for {printed}, c = k = m = 4", count,
            "the forwarding classes of the switch", source="section III-C, Fig. 2(b)",
        )  # fmt: skip
        yield Row(claim, len(matching))


def cubes() -> Iterator[Row]:
    """Section I on k-ary n-cubes; the average over all pairs, a node and itself included."""
    for k, n in ((4, 2), (8, 2), (4, 3), (6, 3), (16, 3)):
        network = fabric(f"torus:{'x'.join([str(k)] * n)}")
        diameter, mean = from_node(network)
        for words, printed, hops, how in (
            ("mean", k * n / 4, mean * (1 - 1 / network.size), "k n / 4 hops on average"),
            ("diameter", k * n / 2, diameter, "the diameter is k n / 2"),
        ):
            claim = Claim(
                f"cube-{words}-{k}-{n}", PAPER, f"{words} of a {k}-ary {n}-cube", printed,
                "exact from one node (the torus is vertex-transitive)", source=f"section I: {how}",
                tolerance=1e-6,
            )  # fmt: skip
            known = Independent.by(oracles.torus_diameter, "torus", k, n, 2) if words == "diameter" else None
            yield Row(claim, hops, independent=known)


EXPERIMENTS = (Experiment("hrsw-statements", PAPER, "path lengths and tables, without numbers", _rows),)

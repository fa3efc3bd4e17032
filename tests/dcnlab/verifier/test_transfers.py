"""Transfer functions of random networks, and of whole ones, against packets that are followed one by one.

DCNLAB_HASSEL names folders with Hassel's tables, with a colon between them: Stanford's (16 routers, headers of
128 bits), Internet2's (9 routers, 48 bits).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import networkx as nx
import pytest

from dcnlab.verifier import files
from dcnlab.verifier.checking import Fault
from dcnlab.verifier.transfers import Transfers


def test_any_table_of_transfer_functions_loops_where_single_packets_do(tmp_path: Path) -> None:
    looping = 0
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        drawn = Drawn(seed)
        drawn.write(folder)
        (report,) = files.check(files.read(folder))
        circles = drawn.circles()
        looping += bool(circles)
        assert {drawn.circle(one.packet) for one in report.violations} == circles
        assert report.concerned.keys() == ({Fault.loop} if circles else set())
    assert 10 < looping < 60


class Drawn:
    """Three routers with rules over four bits of a VLAN and three of a destination, in headers of 48 bits.

    Rules write the last three of the VLAN's bits, never the first; some are for one of the two ports only."""

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        self.ins = {router: (10 * router + 1, 10 * router + 2) for router in (1, 2, 3)}
        self.rules = [
            (
                router, draw.choice(((0, 1), (0, 1), (0,), (1,))),
                self._match(draw, 4, 0.3), self._match(draw, 3, 0.5), draw.choice(("", "000", "001", "110")),
                10 * router + draw.choice((5, 6)) if draw.random() < 0.85 else 0,
            )
            for router in self.ins for _ in range(7)
        ]  # fmt: skip
        #: From the ports by which packets leave to those by which they arrive; 26 and 36 lead outside.
        self.links = {15: 21, 16: 31, 25: 11, 35: 22}

    @staticmethod
    def _match(draw: Random, bits: int, tested: float) -> str:
        return "".join(draw.choice("01") if draw.random() < tested else "x" for _ in range(bits))

    def write(self, folder: Path) -> None:
        for router, ins in self.ins.items():
            lines = []
            for rank, (at, ports, vlan, to, change, out) in enumerate(self.rules):
                if at != router:
                    continue
                kept, into = (
                    ("1" * 13 + "000" + "1" * 32, "0" * 13 + change + "0" * 32) if change else ("None",) * 2
                )
                match = "x" * 12 + vlan + "x" * 29 + to
                kind, outs = "rw" if change else "fwd", out or ""
                given = ", ".join(str(ins[port]) for port in ports)
                lines.append(f"{kind}$[{given}]${match}${kept}${into}$None$None$[{outs}]$#$#$$$r{rank}$")
            (folder / f"r{router}.tf").write_text("\n".join(lines))
        links = [f"link$[{a}]$None$None$None$None$None$[{b}]$#$#$$$_$" for a, b in self.links.items()]
        (folder / "topology.tf").write_text("\n".join(links))

    def circles(self) -> set[frozenset[str] | None]:
        """The routers of each circle that some packet which enters from outside comes to, packet by packet."""
        outside = {port for ports in self.ins.values() for port in ports} - set(self.links.values())
        every = product(sorted(outside), range(16), range(8))
        return {self._round(port, vlan, to) for port, vlan, to in every} - {None}

    def circle(self, packet: str) -> frozenset[str] | None:
        """The routers of the circle that a packet of a violation comes to."""
        header, _, _, port, *_ = packet.replace(",", "").split()
        return self._round(int(port), int(header[12:16], 2), int(header[-3:], 2))

    def _round(self, port: int, vlan: int, to: int) -> frozenset[str] | None:
        seen, here = list[tuple[int, int]](), (port, vlan)
        while here not in seen:
            seen.append(here)
            after = self._after(*here, to)
            if after is None:
                return None
            here = after
        return frozenset(f"r{at // 10}" for at, _ in seen[seen.index(here) :])

    def _after(self, port: int, vlan: int, to: int) -> tuple[int, int] | None:
        for router, ports, tests, targets, change, out in self.rules:
            fits = all(m in (b, "x") for m, b in zip(tests + targets, f"{vlan:04b}{to:03b}", strict=True))
            if port in (self.ins[router][one] for one in ports) and fits:
                into = vlan & 8 | int(change, 2) if change else vlan
                return (self.links[out], into) if out in self.links else None
        return None


GIVEN = [Path(folder) for folder in os.environ.get("DCNLAB_HASSEL", "").split(":") if folder]


@pytest.mark.skipif(not GIVEN, reason="DCNLAB_HASSEL names no folder with Hassel's tables")
@pytest.mark.parametrize("folder", GIVEN, ids=lambda folder: folder.name)
def test_tables_of_whole_networks_are_checked_and_their_loops_are_those_of_their_rules(folder: Path) -> None:
    model = files.read(folder)
    assert isinstance(model, Transfers)
    (report,) = files.check(model)
    assert report.checked > 10_000
    for violation in report.violations:
        header, _, _, port, *_ = violation.packet.replace(",", "").split()
        assert loops(folder, int(port), header)


@cache
def texts(folder: Path) -> tuple[dict[str, list[list[str]]], dict[str, list[str]]]:
    """The rules by port of arrival, and the links."""
    rules, links = dict[str, list[list[str]]](), dict[str, list[str]]()
    for path in sorted(folder.glob("*.tf")):
        for line in path.read_text().splitlines():
            parts = line.replace(",", " ").split("$")
            if parts[0] == "link":
                links.setdefault(parts[1].strip("[]"), []).append(parts[7].strip("[]"))
            elif parts[0] in ("fwd", "rw"):
                for one in parts[1].strip("[]").split():
                    rules.setdefault(one, []).append(parts)
    return rules, links


def loops(folder: Path, port: int, header: str) -> bool:
    """Whether a copy of a packet can go round, by the texts of the rules."""
    rules, links = texts(folder)
    graph, pending = nx.DiGraph(), [(str(port), header)]
    graph.add_node(pending[0])
    while pending:
        here = pending.pop()
        for after in copies(*here, rules, links):
            if after not in graph:
                pending.append(after)
            graph.add_edge(here, after)
    return not nx.is_directed_acyclic_graph(graph)


def copies(
    port: str, header: str, rules: dict[str, list[list[str]]], links: dict[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """Where the first rule that matches sends a packet to."""
    for kind, _, match, kept, into, _, _, outs, *_ in rules.get(port, ()):
        if not all(m in (b, "x") for m, b in zip(match.replace(" ", ""), header, strict=True)):
            continue
        if kind == "rw":
            masks = zip(header, kept.replace(" ", ""), into.replace(" ", ""), strict=True)
            header = "".join(bit if keep == "1" else new for bit, keep, new in masks)
        for out in outs.strip("[]").split():
            yield from ((there, header) for there in links.get(out, [out] if out in rules else []))
        return

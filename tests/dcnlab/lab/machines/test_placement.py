"""A fabric divided among machines: every node once, loads by size, few links cut; files and descriptions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcnlab.lab.emulation import capacity
from dcnlab.lab.errors import UsageError
from dcnlab.lab.machines import description, placement, placement_file
from dcnlab.lab.machines.placement import Machine
from tests.lab.terminal import DCNLAB
from topos import registry

SPECS = ("bcube:4,1", "clot:4x4", "smallworld:4x4", "hdcube:4,2", "fattree:4", "torus:4x4x4", "dcell:4,1")
GIB = 1 << 30
machines = st.lists(
    st.builds(Machine, st.just("m"), st.integers(1, 64), st.integers(1, 512)), min_size=1, max_size=5
)


def sized(given_machines: list[Machine]) -> tuple[Machine, ...]:
    """The machines with names and in GiB."""
    return tuple(
        Machine(f"m{number}", one.cores, one.memory * GIB) for number, one in enumerate(given_machines)
    )


@given(st.sampled_from(SPECS), machines)
@settings(max_examples=30, deadline=None)
def test_every_node_is_placed_once_and_parts_add_up(spec: str, some: list[Machine]) -> None:
    fabric, given_ = registry.fabric(spec), sized(some)
    placed = placement.place(fabric, given_)
    nodes = [node for number in range(len(given_)) for node in placed.nodes(number)]
    assert sorted(nodes) == list(range(fabric.size))
    cut = {link.index for link in fabric.links() if placed.of[link.a.node] != placed.of[link.b.node]}
    assert set(placed.cut) == cut
    parts = placed.parts()
    assert sum(part.servers for part in parts) == fabric.servers
    assert sum(part.switches for part in parts) == fabric.switches
    assert sum(part.links for part in parts) + len(cut) == len(fabric.link_ends)
    assert sum(part.external_links for part in parts) == 2 * len(cut)
    for number, part in enumerate(parts):
        assert {link.index for link in placed.external(number)} <= cut
        assert len(list(placed.external(number))) == part.external_links


@given(st.sampled_from(SPECS), machines)
@settings(max_examples=30, deadline=None)
def test_no_placement_is_worse_than_blocks(spec: str, some: list[Machine]) -> None:
    fabric, given_ = registry.fabric(spec), sized(some)
    weights, shares = placement.node_weights(fabric), placement.machine_shares(given_)
    best = np.array(placement.place(fabric, given_).of)
    blocks = placement.in_blocks(fabric, weights, shares)

    def judged(of: placement.Ints) -> tuple[float, int]:
        loads = np.bincount(of, weights, len(given_))
        over = max(0.0, float(((loads - weights.max()) / shares).max()) - 1 - placement.SLACK)
        return over, sum(bool(of[link.a.node] != of[link.b.node]) for link in fabric.links())

    assert judged(best) <= judged(blocks)


@given(st.sampled_from(SPECS), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_a_file_states_any_placement(spec: str, count: int, random: object) -> None:
    fabric = registry.fabric(spec)
    some = tuple(Machine(f"m{number}", 1, GIB) for number in range(count))
    of = tuple(random.randrange(count) for _ in range(fabric.size))  # type: ignore[attr-defined]
    value = json.loads(json.dumps(placement_file.as_json(placement.Placement(fabric, some, of))))
    assert placement_file.parse(value, fabric, some).of == of
    assert placement_file.parse({"placement": value}, fabric, some).of == of


def test_a_plan_of_all_nodes_is_that_of_the_lab() -> None:
    fabric = registry.fabric("bcube:4,1")
    everything = range(fabric.size)
    assert capacity.memory_needed(fabric) == capacity.memory_needed(fabric, nodes=everything)
    assert capacity.processor_seconds(fabric) == capacity.processor_seconds(fabric, nodes=everything)


def test_a_torus_is_cut_along_its_rows() -> None:
    """Four equal machines and 8 x 8 x 8 servers: four slabs cost 4 * 64 links."""
    fabric = registry.fabric("torus:8x8x8")
    placed = placement.place(fabric, tuple(Machine(f"m{number}", 2, 8 * GIB) for number in range(4)))
    assert len(placed.cut) <= 4 * 64


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m0: [h0-h3]", "s0 and 3 more on no machine"),
        ("m0: [h0-h3, s0-s3, h1]", "h1 is named twice"),
        ("m9: [h0-h3]", "there is no machine m9: there are m0, m1"),
        ("m0: [h0-s3]", "h0-s3 is no range of nodes"),
        ("m0: [h9]", "no node 'h9' in bcube:2,1"),
        ("m0: h0", "it must list nodes by machine"),
        ("[", "while parsing"),
    ],
)
def test_a_wrong_file_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "parts.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        placement_file.read(str(file), registry.fabric("bcube:2,1"), description.parse("2"))
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["0", "-1", "three", "8x", "8x0G", "0x8G", "8x32G,", "99999", "tcp://h:1"])
def test_wrong_descriptions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="CORESxMEMORY"):
        description.parse(text)


def test_more_machines_than_nodes_are_refused() -> None:
    with pytest.raises(UsageError, match="8 nodes, fewer than the 9 machines"):
        placement.place(registry.fabric("bcube:2,1"), description.parse("9"))


def test_the_command_prints_what_it_reads_again(tmp_path: Path) -> None:
    words = [*DCNLAB, "plan", "bcube:4,1", "--machines", "8x32G,4x16G", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["fits"]
    assert [part["servers"] for part in answer["machines"]] != [0, 16]
    (tmp_path / "plan.json").write_text(done.stdout)
    again = subprocess.run([*words, "--placement", str(tmp_path / "plan.json")], capture_output=True, text=True)
    assert json.loads(again.stdout) == answer


def test_a_machine_that_is_too_small_is_named() -> None:
    words = [*DCNLAB, "plan", "bcube:8,3", "--machines", "2x1G,2x1G"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines() if "  no  " in line] == ["m0", "m1"]

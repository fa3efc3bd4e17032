"""The splits of the optimum as a scheme: what its rounded weights carry, and that every packet arrives."""

from __future__ import annotations

from pathlib import Path

import pytest

from addressing.registry import bind
from controller.plan import integer_weights
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.optimum.beside import optimum_of, scheme_theta
from dcnlab.evaluator.optimum.installed import PARTS, as_file, scheme_class, splits_of
from dcnlab.evaluator.traffic.loads import carried_load
from dcnlab.traffic.patterns import traffic
from tests.lab.lines import dcnlab
from topos.registry import fabric

CASES = [
    ("bcube:4,1", "longest-matching"), ("dcell:3,1", "permutation"), ("fattree:4", "permutation"),
    ("jellyfish:6,8,4", "permutation"), ("torus:4x4", "permutation"), ("dragonfly:4,2,2", "longest-matching"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "pattern"), CASES)
def test_rounded_weights_carry_nearly_the_optimum_and_no_more(spec: str, pattern: str) -> None:
    network = fabric(spec)
    wanted = traffic(network, pattern).by_destination()
    bounds = optimum_of(network, wanted).optimum
    scheme = scheme_class(network, splits_of(network, wanted))(network)
    assert 0.95 * bounds.lower < scheme_theta(scheme, wanted) < 1.0001 * bounds.upper


@pytest.mark.parametrize("failing", ["", "links=10%"])
@pytest.mark.parametrize(("spec", "pattern"), CASES[:4])
def test_packets_of_all_pairs_arrive(spec: str, pattern: str, failing: str) -> None:
    network = fabric(spec)
    scheme = scheme_class(network, splits_of(network, traffic(network, pattern)))(network)
    failed = failures.draw(network, failing, 1)
    pairs = choose(network, "servers", 1, failed.nodes)
    arrived = carried_load(scheme, pairs, failed.links).delivered
    assert arrived == carried_load(bind("shortest", network), pairs, failed.links).delivered > 0


def test_weights_are_small_enough_for_select_groups() -> None:
    network = fabric("bcube:4,1")
    splits = splits_of(network, traffic(network, "longest-matching"))
    weights = [list(ports.values()) for servers in splits.values() for ports in servers.values()]
    assert all(sum(some) == PARTS for some in weights)
    assert any(len(some) > 1 for some in weights)
    shares = [[one / PARTS for one in some] for some in weights]
    assert all(sum(integer_weights(some)) <= PARTS for some in shares)


def test_the_written_file_is_a_scheme_of_its_topology_alone(tmp_path: Path) -> None:
    path, words = tmp_path / "splits.py", ("--scheme", "optimal", "--traffic", "permutation")
    done = dcnlab("throughput", "bcube:2,1", *words, "--splits", path, "--json")
    assert done.returncode == 0, done.stderr
    network = fabric("bcube:2,1")
    splits = splits_of(network, traffic(network, "permutation").by_destination())
    assert path.read_text() == as_file(network, "permutation", splits)
    for line in (("throughput", "bcube:2,1", "--scheme", "ecmp"), ("throughput", "bcube:2,1", *words[:2])):
        assert dcnlab(*line, "--splits", tmp_path / "none.txt").returncode == 2
    missing = dcnlab("up", "bcube:2,1", "--scheme", "optimal")
    assert missing.returncode == 2
    assert "--splits" in missing.stderr

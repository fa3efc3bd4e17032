"""Generators discovered from a graph without them, by relators."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from addressing.automata.discovery import discover
from addressing.automata.group import of_table
from addressing.automata.presentations import of_family
from tests.addressing.automata.oracles import family
from tests.lab.lines import dcnlab


def shuffled(spec: str) -> list[list[int]]:
    """The neighbours of a Cayley graph's vertices, vertices and neighbours in random order."""
    graph, draw = family(spec), random.Random(spec)
    images = graph.images(np.arange(graph.vertices, dtype=np.int64))
    names = list(range(graph.vertices))
    draw.shuffle(names)
    rows: list[list[int]] = [[] for _ in names]
    for vertex, ends in enumerate(images.tolist()):
        rows[names[vertex]] = [names[end] for end in ends]
        draw.shuffle(rows[names[vertex]])
    return rows


@pytest.mark.parametrize(
    "spec",
    ["hypercube:4", "bubblesort:4", "star:4", "transposition:4", "pancake:4", "butterfly:3", "borel:7,2,1,2"],
)
def test_every_relator_closes_at_every_vertex(spec: str) -> None:
    rows, presentation = shuffled(spec), of_family(family(spec))
    labelling = discover(rows, presentation)
    assert labelling is not None
    for vertex, letters in enumerate(labelling):
        assert sorted(letters.values()) == sorted(rows[vertex])
        for relator in presentation.relators:
            end = vertex
            for letter in relator:
                end = labelling[end][letter]
            assert end == vertex
        for letter, end in letters.items():
            assert labelling[end][presentation.inverses[letter]] == vertex


@pytest.mark.parametrize(("spec", "other"), [("star:4", "bubblesort:4"), ("bubblesort:4", "star:4")])
def test_the_graph_of_another_group_has_no_labelling(spec: str, other: str) -> None:
    assert discover(shuffled(spec), of_family(family(other))) is None


def test_another_degree_is_refused() -> None:
    assert discover(shuffled("hypercube:3"), of_family(family("hypercube:4"))) is None


def test_the_command(tmp_path: Path) -> None:
    """A file has the links of a star graph, but no generators."""
    lines = [f"{u} {v}" for u, row in enumerate(shuffled("star:4")) for v in row if u < v]
    (tmp_path / "copy.edgelist").write_text("\n".join(lines) + "\n")
    command = ["automaton", f"file:{tmp_path}/copy.edgelist", "--group"]
    answer = json.loads(dcnlab(*command, "star:4", "--json").stdout)
    assert answer["diff"]["states"] == 14
    assert len(answer["generators"]) == 24
    assert all(sorted(row) == ["(1 2)", "(1 3)", "(1 4)"] for row in answer["generators"].values())
    assert "generators found for all links" in dcnlab(*command, "star:4").stdout
    searched = dcnlab(*command, "star:4", "--order", "search", "--for", "1ms", "--json")
    best = json.loads(searched.stdout)
    assert best["trials"] >= 1
    assert best["generators"] == answer["generators"]
    assert sorted(best["letters"]) == ["(1 2)", "(1 3)", "(1 4)"]
    refused = dcnlab(*command, "bubblesort:4")
    assert refused.returncode == 2
    assert "no choice of generators satisfies its relators" in refused.stderr


def test_the_labelled_graph_is_the_group() -> None:
    """Its multiplication table has as many elements, and the normal forms have the same lengths."""
    labelling = discover(shuffled("star:4"), of_family(family("star:4")))
    assert labelling is not None
    table = np.array([[row[letter] for letter in range(3)] for row in labelling], dtype=np.int32)
    group = of_table(table, family("star:4").letters, (0, 1, 2))
    assert np.bincount(group.lengths).tolist() == [1, 3, 6, 9, 5]

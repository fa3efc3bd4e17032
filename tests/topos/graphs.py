"""Shared by the topology tests: small instances of every family, and fabrics as networkx and scipy graphs."""

from __future__ import annotations

import functools
import random
import typing
from collections.abc import Iterable
from dataclasses import MISSING, Field
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import shortest_path

from topos.fabric import Fabric
from topos.family import Family, ParameterError
from topos.graph import ALL_UP, LinkState
from topos.registry import fabric, known, parse
from topos.spec import SpecError, parameters

#: Nodes of the instances that properties are drawn from.
SMALL = 120
_DRAWS = 1500


@functools.cache
def instances(name: str) -> tuple[str, ...]:
    """Specifications of small networks of a family, for any parameters that it has."""
    family, draw = known()[name], random.Random(name)
    hints = typing.get_type_hints(family)
    fields = parameters(family)
    specs = {family.example: None}
    rows = [tuple(_value(draw, family, f, hints[f.name]) for f in fields) for _ in range(_DRAWS)]
    for row in dict.fromkeys(rows):
        try:
            made = family(**{f.name: value for f, value in zip(fields, row, strict=True)})
        except ParameterError:
            continue
        if sum(made.counts()) <= SMALL:
            specs[made.spec] = None
    return tuple(specs)


def _value(draw: random.Random, family: type[Family], field: Field[Any], hint: object) -> object:
    if field.default is not MISSING and draw.random() < 0.5:
        return field.default
    low = int(field.metadata.get("low") or 0)
    if hint is bool:
        return draw.random() < 0.5
    if hint is float:
        return draw.choice([0.0, 1.0, 2.5])
    if hint == tuple[int, ...]:
        return tuple(draw.randint(low, low + 4) for _ in range(draw.randint(1, 3)))
    if hint is str:
        return draw.choice(field.metadata["choices"] or (family.example.partition(":")[2],))
    return draw.randint(low, low + 7)


@functools.lru_cache(maxsize=512)
def built(spec: str) -> Fabric:
    """The fabric of a specification, built once."""
    return fabric(spec)


def refusal(spec: str) -> str | None:
    """The error of parsing a specification; None when it names a network."""
    try:
        parse(spec)
    except SpecError as error:
        return str(error)
    return None


def links(network: Fabric) -> set[tuple[int, int]]:
    """The links as pairs of nodes, the lower one first."""
    return {(min(a, b), max(a, b)) for a, _, b, _ in network.link_ends.tolist()}


def graph(network: Fabric, down: LinkState = ALL_UP) -> nx.MultiGraph:
    """The fabric as a networkx graph: all nodes, and the links that are up."""
    multigraph = nx.MultiGraph()
    multigraph.add_nodes_from(range(network.size))
    ends = network.link_ends[:, [0, 2]].tolist()
    multigraph.add_edges_from((a, b) for i, (a, b) in enumerate(ends) if i not in down.down)
    return multigraph


def adjacency(pairs: Iterable[tuple[int, int]], size: int) -> csr_array:
    """A symmetric scipy matrix."""
    ends = np.array(list(pairs))
    matrix = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    return csr_array(matrix + matrix.T)


def distances(network: Fabric, sources: Iterable[int]) -> NDArray[np.float64]:
    """Distances in links from each source, by scipy: a row per source."""
    matrix = adjacency(links(network), network.size)
    return np.asarray(shortest_path(matrix, unweighted=True, indices=list(sources)))


def server_hops(network: Fabric, sources: Iterable[int]) -> NDArray[np.float64]:
    """Distances in server-to-server steps from each source; a link or a shared switch is one step."""
    pairs = {(a, b) for a, b in links(network) if b < network.servers}
    for switch in range(network.servers, network.size):
        servers = sorted(network.neighbours(switch))
        pairs.update((a, b) for i, a in enumerate(servers) for b in servers[i + 1 :])
    matrix = adjacency(pairs, network.servers)
    return np.asarray(shortest_path(matrix, unweighted=True, indices=list(sources)))

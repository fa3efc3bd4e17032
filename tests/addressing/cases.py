"""The fabrics and schemes that the tests run over, from both registries."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

import networkx as nx
import numpy as np

from addressing import registry as schemes
from addressing.scheme import Scheme
from tests.topos.graphs import built, graph
from topos import registry as families
from topos.fabric import Fabric
from topos.family import Family, ParameterError
from topos.graph import ALL_UP, LinkState

#: The largest number of nodes of the fabrics that tests draw in addition to the examples.
SMALL = 40

#: A network of switches with different numbers of hosts, also none.
UNEVEN = "jellyfish:6,8,servers=2x3+4x2+2x0"
#: Further settings of schemes that have parameters.
SETTINGS = {
    "brp": ("brp:multipath=yes",),
    "dor": ("dor", "dor:balanced=yes"),
    "ksp": ("ksp:k=3",),
    "cr": ("cr:d=3",),
    "cr-bfs": ("cr-bfs:d=3",),
    "wmgr": ("wmgr:root=1", "wmgr:ties=spread"),
    "hier": ("hier", "hier:ties=spread"),
    "tz": ("tz:seed=4,ties=spread", "tz:sample=root-log,represented=yes"),
    "updown": ("updown", "updown:ties=spread"),
    "wmgr-cayley": ("wmgr-cayley:order=search",),
}


T = TypeVar("T")


def few(items: Iterable[T], shows: Callable[[T], Iterable[Hashable]]) -> list[T]:
    """The items that show something that those before do not; all where DCNLAB_CATALOGUE says `all`."""
    if os.environ.get("DCNLAB_CATALOGUE") == "all":
        return list(items)
    seen: set[Hashable] = set()
    some = []
    for item in items:
        if news := set(shows(item)) - seen:
            seen |= news
            some.append(item)
    return some


def symmetric(family: type[Family]) -> bool:
    """True for families that take ``hosts=m``."""
    return family.centric == "symmetric"


def examples() -> Iterator[str]:
    """Every family's example; for families with ``hosts`` also one with two hosts per switch; and one with
    different numbers of them."""
    for family in families.known().values():
        yield family.example
        if symmetric(family) and family.name != "file":
            yield f"{family.example},hosts=2"
    yield UNEVEN


def texts(family: Family) -> Iterator[str]:
    """The specifications of the compatible schemes, in all settings that are tested."""
    for name in schemes.compatible_schemes(family):
        yield from SETTINGS.get(name, (name,))


def pairs() -> list[tuple[str, str]]:
    """Every example with every compatible scheme."""
    return [(spec, text) for spec in examples() for text in texts(families.parse(spec))]


def covering(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of some pairs that together have every topology, and every scheme and setting in every kind of
    network: small ones first, each topology beginning with another scheme."""
    by_spec: dict[str, list[str]] = {}
    for spec, text in pairs:
        by_spec.setdefault(spec, []).append(text)
    turned = [
        (spec, text)
        for turn, spec in enumerate(sorted(by_spec, key=lambda spec: built(spec).size))
        for text in rotated(by_spec[spec], turn)
    ]
    return few(turned, lambda pair: (pair[0], (kind(pair[0]), pair[1])))


def rotated(items: list[T], turn: int) -> list[T]:
    """The items, beginning with the one of that number."""
    first = turn % len(items)
    return [*items[first:], *items[:first]]


def kind(spec: str) -> str:
    """Who forwards, and over what: servers without switches, servers and switches, switches alone."""
    fabric = built(spec)
    if fabric.is_end_host(0):
        return "plain hosts"
    return "relays and switches" if fabric.switches else "relays"


@functools.cache
def smalls(name: str) -> tuple[str, ...]:
    """Specifications of a family with at most SMALL nodes, found by varying its parameters."""
    family = families.known()[name]
    fields = [f for f in dataclasses.fields(family) if f.init and (f.name in _VARIED or _needed(f))]
    hints = typing.get_type_hints(family)
    specs = [family.example]
    for values in itertools.islice(itertools.product(*(_values(f, hints[f.name]) for f in fields)), 20_000):
        try:
            made = family(**dict(zip((f.name for f in fields), values, strict=True)))
        except ParameterError:
            continue
        servers, switches = made.counts()
        if servers >= 2 and servers + switches <= SMALL:
            specs.append(made.spec)
    return tuple(specs)


_VARIED = ("hosts", "clusters", "links", "torus", "cube", "parts")


def _needed(field: dataclasses.Field[object]) -> bool:
    return field.default is dataclasses.MISSING


def _values(field: dataclasses.Field[object], hint: object) -> list[object]:
    if hint is bool:
        return [True, False]
    if hint == tuple[int, ...]:
        radices = range(1 if field.name == "clusters" else 2, 6)
        return [v for n in (1, 2, 3) for v in itertools.product(radices, repeat=n)]
    if hint is str:
        return ["hyper", "mobius0", "mobius1", "twisted"] if field.name == "cube" else []
    if field.name == "hosts":
        return [0, 1, 2] if field.metadata["low"] == 0 else [1, 2]
    low = int(field.metadata.get("low") or 0)
    values: list[object] = list(range(low, low + (9 if field.name == "p" else 4)))
    return values if _needed(field) else [field.default, *values[:2]]


@functools.lru_cache(maxsize=512)
def bound(spec: str, text: str) -> Scheme:
    """A scheme bound to a fabric, cached."""
    return schemes.bind(text, built(spec))


@functools.lru_cache(maxsize=256)
def pieces(fabric: Fabric, down: LinkState = ALL_UP) -> dict[int, int]:
    """Per node the number of its connected component."""
    components = nx.connected_components(graph(fabric, down))
    return {node: number for number, nodes in enumerate(components) for node in nodes}


@functools.lru_cache(maxsize=1024)
def failures(fabric: Fabric, seed: int, share: float, splitting: bool = False) -> LinkState:
    """Random links that are down, a ``share`` of all.  Unless ``splitting``, links whose failure would
    split a connected component stay up."""
    order = np.random.default_rng(seed).permutation(len(fabric.link_ends)).tolist()
    chosen = order[: max(1, round(share * len(order)))]
    if splitting:
        return LinkState(frozenset(chosen))
    down, whole = ALL_UP, len(set(pieces(fabric).values()))
    for link in chosen:
        more = down.fail((link,))
        if len(set(pieces(fabric, more).values())) == whole:
            down = more
    return down

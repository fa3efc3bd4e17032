"""Traffic patterns: who sends to whom; by name, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from dcnlab.traffic import demand_files
from dcnlab.traffic.matrices import MATRICES, Matrix
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import IntArray
from topos.spec import SpecError

#: All flows between more servers, or a matrix of their demands, need over 4 GB.
_MOST_ALL_TO_ALL, _MOST_IN_MATRIX = 10_000, 20_000


@dataclass(frozen=True, eq=False)
class Traffic:
    """Flows from ``sources[i]`` to ``destinations[i]``, each with unlimited demand.

    ``amounts``: how much each sends, relative to the others.
    """

    name: str
    sources: IntArray
    destinations: IntArray
    amounts: Floats

    def __len__(self) -> int:
        """The number of flows."""
        return len(self.sources)

    @property
    def weighted(self) -> bool:
        """Whether flows differ in what they send."""
        return bool(len(self.amounts) and (self.amounts != self.amounts[0]).any())

    def by_destination(self) -> Traffic:
        """The same flows by destination, then by source."""
        order = np.lexsort((self.sources, self.destinations))
        return Traffic(self.name, self.sources[order], self.destinations[order], self.amounts[order])


def _all_to_all(servers: IntArray, _: np.random.Generator, __: Mapping[str, float]) -> list[IntArray]:
    return [np.tile(servers, len(servers)), np.repeat(servers, len(servers))]  # in the order of pairs()


def _permutation(servers: IntArray, rng: np.random.Generator, _: Mapping[str, float]) -> list[IntArray]:
    """One random cycle through all servers, so no server sends to itself."""
    order = rng.permutation(servers)
    return [order, np.roll(order, -1)]


def _stride(servers: IntArray, _: np.random.Generator, parameters: Mapping[str, float]) -> list[IntArray]:
    return [servers, np.roll(servers, -int(parameters["by"]))]


def _local(servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]) -> list[IntArray]:
    """Each server sends one flow: with probability ``share`` inside its group of consecutive servers."""
    count, group = len(servers), int(parameters["group"])
    here = np.arange(count)
    first = here // group * group
    width = np.minimum(group, count - first)
    inside = first + (here - first + 1 + rng.integers(0, np.maximum(width - 1, 1))) % width
    anywhere = (here + 1 + rng.integers(0, max(count - 1, 1), count)) % count
    return [servers, servers[np.where(rng.random(count) < parameters["share"], inside, anywhere)]]


def _one_to_several(
    servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]
) -> list[IntArray]:
    drawn = rng.permutation(servers)[: int(parameters["count"]) + 1]
    return [np.repeat(drawn[:1], len(drawn) - 1), drawn[1:]]


def _several_to_one(
    servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]
) -> list[IntArray]:
    return _one_to_several(servers, rng, parameters)[::-1]


def _incast(servers: IntArray, _: np.random.Generator, parameters: Mapping[str, float]) -> list[IntArray]:
    """All others send to one server."""
    target = int(parameters["to"])
    if target not in servers:
        raise SpecError(f"traffic: incast:to={target}: there is no such server, or it has failed")
    return [servers, np.full_like(servers, target)]


def _hotspot(servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]) -> list[IntArray]:
    """Each server sends one flow: with probability ``share`` to one of ``count`` hot servers."""
    count = len(servers)
    hot = rng.permutation(servers)[: int(parameters["count"])]
    there = rng.choice(hot, count) if count else servers
    anywhere = servers[(np.arange(count) + 1 + rng.integers(0, max(count - 1, 1), count)) % max(count, 1)]
    return [servers, np.where(rng.random(count) < parameters["share"], there, anywhere)]


Maker = Callable[[IntArray, np.random.Generator, Mapping[str, float]], list[IntArray]]

#: By name: the function that generates the flows, and its parameters with defaults.
PATTERNS: Mapping[str, tuple[Maker, Mapping[str, float]]] = {
    "all-to-all": (_all_to_all, {}),
    "permutation": (_permutation, {}),
    "stride": (_stride, {"by": 1}),
    "incast": (_incast, {"to": 0}),
    "hotspot": (_hotspot, {"share": 0.5, "count": 1}),
    "local": (_local, {"group": 16, "share": 0.8}),
    "one-to-one": (_one_to_several, {"count": 1}),
    "one-to-several": (_one_to_several, {"count": 4}),
    "several-to-one": (_several_to_one, {"count": 4}),
}

#: The parameters of every pattern, with defaults.
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    **{name: given for name, (_, given) in PATTERNS.items()},
    **{name: given for name, (_, given) in MATRICES.items()},
}
#: Parameters that need not be whole numbers, and the largest value of each.
_FRACTIONS = {"share": 1, "sigma": 10, "alpha": 10}


def traffic(fabric: Fabric, text: str, seed: int = 1, failed: Collection[int] = ()) -> Traffic:
    """The flows of a pattern such as ``stride:by=8``, or of a file, between the servers that did not fail.

    Raises SpecError with one line.
    """
    check_size(fabric, text)
    name = text.partition(":")[0]
    alive = np.setdiff1d(np.arange(fabric.servers, dtype=np.int32), np.fromiter(failed, np.int32, len(failed)))
    rng = np.random.default_rng([seed, 3])
    if _is_file(text):
        sources, destinations, amounts = _from_file(fabric, text, alive)
    elif name in MATRICES:
        sources, destinations, amounts = MATRICES[name][0](fabric, alive, rng, parameters_of(text))
    else:
        parameters = parameters_of(text)
        sources, destinations = PATTERNS[name][0](alive, rng, parameters)
        amounts = np.ones(len(sources))
    different = sources != destinations
    return Traffic(text, sources[different], destinations[different], amounts[different])


def check(text: str) -> None:
    """Raise SpecError, in one line, for what is neither a pattern nor a file that can be read."""
    if _is_file(text):
        demand_files.check(text)
    else:
        parameters_of(text)


def check_size(fabric: Fabric, text: str) -> None:
    """Raise SpecError, in one line, where memory does not hold the traffic of so many servers."""
    name = text.partition(":")[0]
    bounds = {"all-to-all": _MOST_ALL_TO_ALL, **dict.fromkeys(MATRICES, _MOST_IN_MATRIX)}
    if fabric.servers > (most := bounds.get(name, fabric.servers)):
        raise SpecError(f"traffic {name}: {fabric.servers:,} servers are too many: at most {most:,}")


def _is_file(text: str) -> bool:
    return text.partition(":")[0] not in DEFAULTS and demand_files.is_file(text)


def _from_file(fabric: Fabric, text: str, alive: IntArray) -> Matrix:
    """The demands of a file between servers that did not fail."""
    sources, destinations, amounts = demand_files.read(fabric, text)
    kept = np.isin(sources, alive) & np.isin(destinations, alive)
    return sources[kept], destinations[kept], amounts[kept]


def parameters_of(text: str) -> Mapping[str, float]:
    """The parameters of a pattern, with defaults; raises SpecError with one line."""
    name, _, arguments = text.partition(":")
    if name not in DEFAULTS:
        raise SpecError(f"unknown traffic {name!r}: known: {', '.join(DEFAULTS)}, or a file")
    return {**DEFAULTS[name], **_read(name, arguments, DEFAULTS[name])}


def _read(name: str, arguments: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """Parse ``key=value,...`` with the keys of ``defaults``."""
    parameters: dict[str, float] = {}
    for part in filter(None, arguments.split(",")):
        key, _, value = part.partition("=")
        if key not in defaults or not _allowed(key, value):
            shown = ",".join(f"{k}={v:g}" for k, v in defaults.items())
            raise SpecError(f"traffic: cannot read {part!r}: write {name}{':' if shown else ''}{shown}")
        if key in parameters:
            raise SpecError(f"traffic: {key} is given twice")
        parameters[key] = float(value)
    return parameters


def _allowed(key: str, value: str) -> bool:
    """True for a valid value: a share from 0 to 1, sigma from 0 and alpha from 0.1 to 10, any other parameter a
    whole number below 2^31: a server from 0, a count from 1."""
    if key in _FRACTIONS:
        least = 0.1 if key == "alpha" else 0
        return value.replace(".", "", 1).isdecimal() and least <= float(value) <= _FRACTIONS[key]
    return value.isdecimal() and (key != "to") <= int(value) < 2**31

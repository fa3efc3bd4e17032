"""Which topologies with which schemes run as labs: few labs that together show every kind of meeting.

Labs of all pairs that fit take eight minutes on two cores, and grow with the product of what there is.
That rules, tables and agents agree on every pair is held without privileges (tests/addressing); a lab
adds cards, switches and processes, and what these meet is a scheme and a kind of network.  So there are
as many labs as it takes that

- every family's example runs, with hosts and without where that is a choice;
- every scheme, in each of its settings, runs on two families (on one where it fits no other);
- every scheme runs on every kind of network that it fits: see :func:`kind`.

Pairs are read from the registries, so that a newcomer is covered the same day.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Set

from addressing import registry as schemes
from tests.addressing.cases import SETTINGS, kind, symmetric
from tests.topos.graphs import built
from topos import registry
from topos.family import Family

Pair = tuple[str, str]
#: What a pair of topology and scheme shows; a tuple that says what it is about.
Shown = tuple[str, ...]
#: Families on which a setting of a scheme runs, where it fits so many.
FAMILIES = 2


def instances() -> list[str]:
    """The example of every family, with and without hosts where that is a choice."""
    specs = []
    for family in registry.known().values():
        example = registry.parse(family.example)
        specs.append(example.spec)
        if symmetric(family) and "hosts" in {f.name for f in dataclasses.fields(family)}:
            specs.append(dataclasses.replace(example, hosts=1).spec)  # type: ignore[call-arg]
    return specs


def texts(family: Family) -> list[str]:
    """The schemes that fit, in their usual setting and in those that the tests of pairs use."""
    return [
        text
        for name in schemes.compatible_schemes(family)
        for text in dict.fromkeys((name, *SETTINGS.get(name, ())))
    ]


def product() -> list[Pair]:
    """Every instance with every scheme that fits, in its usual setting."""
    return [(spec, name) for spec in instances() for name in schemes.compatible_schemes(registry.parse(spec))]


def candidates() -> list[Pair]:
    """The same in all settings."""
    return [(spec, text) for spec in instances() for text in texts(registry.parse(spec))]


def shows(pair: Pair) -> frozenset[Shown]:
    """What a lab of this pair shows, once."""
    spec, text = pair
    scheme, family = text.partition(":")[0], spec.partition(":")[0]
    return frozenset({("instance", spec), ("kind", scheme, kind(spec)), ("setting", text, family)})


@functools.cache
def cover() -> tuple[Pair, ...]:
    """Few pairs that together show all this: the one that shows most that is new first, small ones before
    large ones; the same on every machine."""
    left = sorted(candidates(), key=lambda pair: built(pair[0]).size)
    chosen: list[Pair] = []
    seen: set[Shown] = set()
    while left:
        best = max(left, key=lambda pair: len(news(pair, seen)))
        if not news(best, seen):
            break
        left.remove(best)
        chosen.append(best)
        seen |= shows(best)
    return tuple(sorted(chosen))


def news(pair: Pair, seen: Set[Shown]) -> frozenset[Shown]:
    """What a lab of this pair shows that is still wanted; a setting is, until two families had it."""

    def enough(shown: Shown) -> bool:
        return shown[0] == "setting" and sum(other[:2] == shown[:2] for other in seen) >= FAMILIES

    return frozenset(shown for shown in shows(pair) - seen if not enough(shown))

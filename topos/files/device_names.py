"""Names that hosts, bridges and their interfaces can have, made from those that somebody gave to nodes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count

#: Linux allows interfaces 15 characters, ``-eth99`` among them.
_LONGEST = 9
_USABLE = re.compile(rf"[A-Za-z][A-Za-z0-9_.]{{0,{_LONGEST - 1}}}")
_OTHERS = re.compile(r"[^A-Za-z0-9.]+")
#: Words that commands understand otherwise.
_RESERVED = frozenset({"agents", "all", "controller", "link", "lo", "node", "ovsdb"})
#: What names of ours look like.
_OURS = re.compile(r"[hs]\d*")


def device_names(given: Sequence[Sequence[str]]) -> Mapping[int, str]:
    """One name for each node, of those ``given`` to it, the better first.

    A name that an interface can have stands; another is shortened: ``Frankfurt am Main`` becomes
    ``Frankfurt``.  No two nodes have the same, and a shortened one is no given name of another node.  Nodes
    whose names do not begin with a letter are left out.
    """
    names: dict[int, str] = {}
    taken = set(_RESERVED)
    for best in range(max(map(len, given), default=0)):
        for node, candidates in enumerate(given):
            name = candidates[best] if best < len(candidates) else ""
            if node not in names and name not in taken and _USABLE.fullmatch(name):
                names[node] = name
                taken.add(name)
    taken.update(chain.from_iterable(given))
    for node, candidates in enumerate(given):
        if node not in names and (name := next(filter(None, map(_plain, candidates)), "")):
            names[node] = next(name for name in _shortened(name) if name not in taken)
            taken.add(names[node])
    return names


def _plain(name: str) -> str:
    """The name in ASCII letters, digits, dots and underscores; empty if it does not begin with a letter, or is
    like one of ours."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = _OTHERS.sub("_", ascii_only).strip("_.")
    return plain if plain[:1].isalpha() and not _OURS.fullmatch(plain) else ""


def _shortened(name: str) -> Iterator[str]:
    """The beginning of a name, then with a number in place of its last characters."""
    yield name[:_LONGEST].rstrip("_.")
    for number in map(str, count(2)):
        yield name[: _LONGEST - len(number)].rstrip("_.") + number

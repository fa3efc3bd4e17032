"""The values that vary in a sweep, and where in a scenario they stand.  Pure.

A key is ``topology``, ``scheme``, an option of labs, a path such as ``traffic.0.for`` or ``bulk.parallel``
(``bulk`` is the name of a result), or the name of a key that stands once in the scenario's entries.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import lab_options
from dcnlab.lab.scenario import traffic
from dcnlab.lab.scenario.action import VERBS, nearest

#: Keys of the file that state the sweep; no run has them.
OWN_KEYS = ("matrix", "repeat")
_TOP = ("topology", "scheme", "title")
_ENTRIES = ("traffic", "events", "links", "services")
#: The option of labs, and the key of traffic, that repetitions count up.
_SEED = "seed"

Document = dict[str, Any]
Matrix = Mapping[str, Sequence[Any]]
#: Keys and numbers of entries from the top of the document.
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Run:
    """One run of a sweep: the values of the matrix, the repetition (from 1), its seed, and its scenario."""

    values: dict[str, Any]
    repetition: int
    seed: int
    document: Document

    def __str__(self) -> str:
        values = [f"{key}={value}" for key, value in self.values.items()]
        return " ".join([*values, f"repetition {self.repetition}"])


def runs(document: Mapping[str, Any], matrix: Matrix, repeat: int) -> list[Run]:
    """Every combination of the matrix, ``repeat`` times; all combinations once, then again.

    Repetition r has the seed of the scenario plus r - 1; so has traffic with a seed of its own.  UsageError
    for a key that is nowhere, or in several places.
    """
    base = {key: copy.deepcopy(value) for key, value in document.items() if key not in OWN_KEYS}
    places = {key: find(base, key) for key in matrix}
    runs = []
    for repetition in range(1, repeat + 1):
        for values in itertools.product(*matrix.values()):
            chosen = dict(zip(matrix, values, strict=True))
            made = copy.deepcopy(base)
            for key, value in chosen.items():
                _put(made, places[key], value)
            seed = _reseed(made, repetition - 1)
            runs.append(Run(chosen, repetition, seed, made))
    return runs


def find(document: Mapping[str, Any], key: str) -> Place:
    """The place in a document that a key of the matrix names; UsageError with one line."""
    if key in _TOP:
        return (key,)
    if "." in key:
        return _path(document, key)
    places = [place for place in _keys(document) if place[-1] == key]
    if len(places) == 1:
        return places[0]
    if key in lab_options():
        return ("options", key)
    places = places or [place for place in _missing(document) if place[-1] == key]
    if len(places) == 1:
        return places[0]
    if places:
        listed = " and ".join(".".join(map(str, place)) for place in places)
        raise UsageError(f"matrix: {key} stands for {listed}: write one of these")
    known = [*_TOP, *lab_options(), *(str(place[-1]) for place in (*_keys(document), *_missing(document)))]
    hint = nearest(key, known)
    raise UsageError(
        f"matrix: {key} is neither topology, scheme, an option of labs nor a key of this scenario's traffic,"
        f" events, links or services{hint and ': '}{hint}"
    )


def _path(document: Mapping[str, Any], key: str) -> Place:
    """The place of ``traffic.0.for``, ``options.rate`` or ``RESULT.KEY``."""
    first, *rest = key.split(".")
    node: Any = document
    place: list[str | int] = []
    if first in (*_ENTRIES, "options"):
        node, place = document.get(first, {}), [first]
    else:
        for section in _ENTRIES:
            for number, entry in enumerate(document.get(section) or ()):
                if first in _names(entry):
                    node, place = entry, [section, number]
                    # The options may stand in the kind's key, as in `flows: {sizes: fixed:1M}`.
                    inside = next(
                        (k for k, v in entry.items() if isinstance(v, Mapping) and rest[0] in v), None
                    )
                    if inside and rest[0] not in entry:
                        node, place = entry[inside], [*place, inside]
    if not place:
        raise UsageError(f"matrix: {key}: the scenario has nothing named {first}")
    for part in rest[:-1]:
        step: str | int = int(part) if isinstance(node, Sequence) and part.isdecimal() else part
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            raise UsageError(f"matrix: {key}: there is no {part}") from None
        place.append(step)
    if not isinstance(node, Mapping):
        raise UsageError(f"matrix: {key}: {'.'.join(map(str, place))} has no keys")
    return (*place, rest[-1])


def _names(entry: object) -> set[str]:
    """The names of an entry's result: its name, or its kind."""
    if not isinstance(entry, Mapping):
        return set()
    return {str(entry["name"])} if "name" in entry else set(map(str, entry))


def _keys(document: Mapping[str, Any]) -> Iterator[Place]:
    """The places of all keys in entries, however deep."""

    def below(node: object, place: Place) -> Iterator[Place]:
        items: Any = ()
        if isinstance(node, Mapping):
            items = node.items()
            yield from ((*place, key) for key in node)
        elif isinstance(node, list | tuple):
            items = enumerate(node)
        for key, value in items:
            yield from below(value, (*place, key))

    for section in _ENTRIES:
        yield from below(document.get(section), (section,))


def _missing(document: Mapping[str, Any]) -> Iterator[Place]:
    """The places of the keys that entries of traffic could have and do not write."""
    for number, entry in enumerate(document.get("traffic") or ()):
        kind = next((kind for kind in traffic.kinds() if isinstance(entry, Mapping) and kind in entry), None)
        if kind is not None:
            for name, field in traffic.model(traffic.entries()[kind]).model_fields.items():
                if (key := field.alias or name) not in entry:
                    yield ("traffic", number, key)


def _put(document: MutableMapping[str, Any], place: Place, value: Any) -> None:
    node: Any = document
    for part in place[:-1]:
        if isinstance(node, MutableMapping) and part not in node:
            node[part] = {}
        node = node[part]
    node[place[-1]] = value


def _reseed(document: Document, more: int) -> int:
    """Count up the seeds of a scenario; that of the lab."""
    options = document.setdefault("options", {})
    seed = options[_SEED] = _counted(options.get(_SEED, lab_options()[_SEED].default), more)
    for entry in document.get("traffic") or ():
        _reseed_traffic(entry, more)
    return seed if isinstance(seed, int) else 0


def _counted(seed: object, more: int) -> object:
    """A seed counted up; what is no whole number stays, for the check of the scenario to refuse."""
    try:
        return int(str(seed)) + more
    except ValueError:
        return seed


def _reseed_traffic(entry: Any, more: int) -> None:
    """Count up the seed of an entry, where its kind has one."""
    for part in (entry, *(entry.values() if isinstance(entry, Mapping) else ())):
        if isinstance(part, MutableMapping) and _SEED in part:
            part[_SEED] = _counted(part[_SEED], more)
            return
    kind = next((kind for kind in traffic.kinds() if isinstance(entry, Mapping) and kind in entry), None)
    if kind is not None and kind not in VERBS:
        field = traffic.model(traffic.entries()[kind]).model_fields.get(f"option_{_SEED}")
        if field is not None and isinstance(field.default, int):
            entry[_SEED] = field.default + more

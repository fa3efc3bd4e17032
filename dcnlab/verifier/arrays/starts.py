"""The packets that sources write, as rows of node, port, label and tag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme, holds
from dcnlab.verifier.arrays.kernel import Longs
from dcnlab.verifier.offline import Offline

#: What a scheme states of the headers that sources write.
HEADERS = "headers", "candidate_paths", "tag_of", "label"


def headers(scheme: Scheme) -> Longs | None:
    """What sources write that know of no failure by themselves, by destination; None where a scheme does not
    know it at once."""
    ends = scheme.endpoints()
    if type(scheme).headers is Scheme.headers:
        return np.array([*map(scheme.label, ends)])
    if not holds(type(scheme), "headers_to", *HEADERS):
        return None
    sent = [scheme.headers_to(end) for end in ends]
    known = [one for one in sent if one is not None]
    return np.array(known, np.int64) if len(known) == len(sent) else None


class Starts:
    """The packets of sources under a model: known at once where the scheme says so, else asked one by one."""

    def __init__(self, model: Offline) -> None:
        self._model, self._scheme = model, model.scheme
        self._plain = type(self._scheme).headers is Scheme.headers
        self._alone = next(model.knowing_more(), None) is not None

    def to(self, destination: int, sources: Longs) -> Longs:
        """Those of some sources for a destination."""
        if self._plain:
            return _rows(sources, np.full(len(sources), self._scheme.label(destination)))
        sent = self._scheme.headers_to(destination) if self._at_once("headers_to") else None
        if sent is not None:
            return _rows(sources, sent[0][sources], sent[1][sources])
        return self._each(sources, np.full(len(sources), destination))[0]

    def between(self, sources: Longs, destinations: Longs) -> tuple[Longs, Longs]:
        """Those of pairs, and the destination of each."""
        sent = self._scheme.headers_between(sources, destinations) if self._at_once("headers_between") else None
        if sent is None:
            return self._each(sources, destinations)
        known = sent[1] >= 0
        rows, ends = self._each(sources[~known], destinations[~known])
        first = _rows(sources[known], sent[0][known], sent[1][known])
        return np.concatenate([first, rows]), np.concatenate([destinations[known], ends])

    def _at_once(self, shortcut: str) -> bool:
        return not self._alone and holds(type(self._scheme), shortcut, *HEADERS)

    def _each(self, sources: Longs, destinations: Longs) -> tuple[Longs, Longs]:
        every = [
            (source, 0, header.label, header.tag, destination)
            for source, destination in zip(sources.tolist(), destinations.tolist(), strict=True)
            for header in self._model.headers(source, destination)
        ]
        rows = np.array(every, np.int64).reshape(-1, 5)
        return np.ascontiguousarray(rows[:, :4]), rows[:, 4]


def _rows(sources: Longs, labels: NDArray[np.int64], tags: NDArray[np.int64] | None = None) -> Longs:
    zeros = np.zeros(len(sources), np.int64)
    return np.stack([sources, zeros, labels, zeros if tags is None else tags], axis=1)

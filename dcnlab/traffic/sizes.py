"""Distributions of flow sizes: ``websearch``, ``datamining``, ``fixed:1M``, or a file.

A distribution is a cumulative one with linear interpolation between its points, as simulators that use
the same figures read it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcnlab.traffic.lines import words_of
from topos.arrays import Floats
from topos.spec import SpecError

Bytes = NDArray[np.int64]

#: Bytes of a packet, in which the two published distributions count.
_PACKET = 1460
#: (size in packets, share of flows of at most this size).
_Points = tuple[tuple[float, float], ...]
#: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4: background flows of a cluster for web
#: search.  The points are those that simulators read from it since "pFabric" (SIGCOMM 2013, figure 4a).
_WEBSEARCH: _Points = (
    (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6), (667, 0.7), (1333, 0.8),
    (3333, 0.9), (6667, 0.97), (20_000, 1.0),
)  # fmt: skip
#: A. Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009, figure 2: flows of a
#: cluster for data mining.  The points are those of "pFabric" (SIGCOMM 2013, figure 4b).
_DATAMINING: _Points = (
    (1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95), (66_667, 0.99), (666_667, 1.0),
)  # fmt: skip
#: The distributions with a name.
NAMED: Mapping[str, _Points] = {"websearch": _WEBSEARCH, "datamining": _DATAMINING}

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMG]?)")
#: The largest flow.
_LARGEST = 10**12
FORMS = "websearch, datamining (both also as websearch:scale=0.1), fixed:1M or a file"


@dataclass(frozen=True, eq=False)
class Sizes:
    """Flow sizes in bytes: ``size[i]`` is the quantile ``share[i]``; both ascend, the last share is 1."""

    name: str
    size: Floats
    share: Floats

    def mean(self) -> float:
        """The mean size in bytes."""
        middle = (self.size[1:] + self.size[:-1]) / 2
        return float(self.size[0] * self.share[0] + middle @ np.diff(self.share))

    def quantile(self, share: Floats) -> Bytes:
        """The sizes at shares from 0 to 1: at least one byte."""
        sizes = np.interp(share, self.share, self.size)
        return np.maximum(np.rint(sizes), 1).astype(np.int64)


def read(text: str) -> Sizes:
    """The distribution of that name, or of a file; SpecError with one line."""
    name, colon, argument = text.partition(":")
    if name == "fixed" and colon:
        return Sizes(text, np.array([float(_bytes(argument))]), np.array([1.0]))
    if name in NAMED:
        points = np.array(NAMED[name])
        return Sizes(text, points[:, 0] * _PACKET * _scale(text, colon, argument), points[:, 1])
    if os.path.isfile(text):
        return _from_file(Path(text))
    raise SpecError(f"sizes: there is neither a distribution nor a file {text!r}: write {FORMS}")


def _scale(text: str, colon: str, argument: str) -> float:
    """The factor of ``scale=0.1``; 1 without."""
    key, _, value = argument.partition("=")
    try:
        scale = float(value) if key == "scale" else 0.0
    except ValueError:
        scale = 0.0
    if colon and not 1e-6 <= scale <= 1e6:
        raise SpecError(f"sizes: cannot read {text!r}: write {FORMS}")
    return scale if colon else 1.0


def _bytes(text: str) -> int:
    """The bytes of ``1500``, ``20K``, ``1.5M`` or ``1G`` (powers of ten)."""
    match = _SIZE.fullmatch(text)
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 1 <= size <= _LARGEST:
        raise SpecError(f"sizes: {text!r} is not a number of bytes: write fixed:1500, fixed:20K or fixed:1M")
    return size


def _from_file(path: Path) -> Sizes:
    """A line is a size in bytes and the share of flows of at most this size, up to 1 or up to 100."""
    rows = [_row(path, number, words) for number, words in words_of(path)]
    sizes, shares = (np.array([row[column] for row in rows]) for column in (0, 1))
    if len(rows) == 0 or shares[-1] not in (1, 100):
        raise SpecError(f"{path}: the last line must have the share 1 (or 100)")
    if (np.diff(sizes) < 0).any() or (np.diff(shares) < 0).any() or shares[0] < 0 or sizes[-1] > _LARGEST:
        raise SpecError(f"{path}: sizes and shares must ascend, sizes to at most {_LARGEST:g}")
    if sizes[-1] < 1:
        raise SpecError(f"{path}: the largest size must be at least 1 byte")
    return Sizes(str(path), sizes, shares / shares[-1])


def _row(path: Path, number: int, words: list[str]) -> tuple[float, float]:
    try:
        size, share = map(float, words)
    except ValueError:
        raise SpecError(f"{path}:{number}: must be a size in bytes and a share") from None
    if not size >= 0 or not share >= 0:
        raise SpecError(f"{path}:{number}: must be a size in bytes and a share")
    return size, share

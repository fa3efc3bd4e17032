"""Decisions for all vertices and targets at once: of rules that read the arrival port, of shortest paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topos.graph import NONE

Bytes = NDArray[np.int8]
Shorts = NDArray[np.int16]
Longs = NDArray[np.int64]


def arriving(letters: Bytes, ends: Longs, back: Longs) -> NDArray[np.bool_]:
    """From which states packets arrive.

    ``letters[v, p, t]`` is the letter by which a packet for t leaves v that arrived by letter p (0: at its
    source), counted from 1; NONE where it goes nowhere.  ``ends[v, c - 1]`` is the vertex that letter c leads
    to, NONE where the link is down, and ``back[c - 1]`` the letter by which a packet arrives there."""
    vertices, degree = letters.shape[:2]
    lost = vertices * degree
    every = np.repeat(np.arange(vertices), degree)
    arrives = np.zeros(letters.shape, np.bool_)
    for target in range(vertices):
        chosen = letters[:, :, target].ravel().astype(np.int64)
        there = ends[every, chosen - 1]
        dead = (chosen == NONE) | (there == NONE)
        following = np.append(np.where(dead, lost, there * degree + back[chosen - 1]), lost)
        following[target * degree : (target + 1) * degree] = target * degree
        for _ in range(int(lost).bit_length()):  # so many steps, then twice as many
            further = following[following]
            if (further == following).all():
                break
            following = further
        arrives[:, :, target] = (following[:-1] == target * degree).reshape(vertices, degree)
    return arrives


def descending(distances: NDArray[np.int32], ends: Longs) -> Shorts:
    """``[v, t]``: the first letter from v that leads nearer to t, NONE where there is none; ``distances[v, t]``
    is negative where there is no path."""
    first = np.full(distances.shape, NONE, np.int16)
    for letter in range(ends.shape[1], 0, -1):
        there = ends[:, letter - 1]
        onward = distances[there]
        nearer = (there != NONE)[:, None] & (onward >= 0) & (onward < distances)
        first[nearer] = letter
    return first

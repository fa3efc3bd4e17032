"""NovaCube (Wang et al.): a torus of servers, each with a link to the farthest server."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.families.torus import Torus
from topos.family import ParameterError
from topos.graph import IntArray


@dataclass(frozen=True)
class NovaCube(Torus):
    """novacube:4x4x4 -- a torus; port 2n + 1 of a server leads to the server at a_i + k_i / 2."""

    name: ClassVar[str] = "novacube"
    example: ClassVar[str] = "novacube:4x4"
    source: ClassVar[str] = "Wang et al., NovaCube, GLOBECOM 2014; Wang et al., CLOT, evaluation"

    def check(self) -> None:
        self.require_even()
        if self.sizes == (2,):
            raise ParameterError("novacube: 2 servers are neighbours already")

    def link_ends(self) -> IntArray:
        nodes = np.arange(math.prod(self.sizes))
        where = np.stack(np.unravel_index(nodes, self.sizes), axis=1)
        far = np.ravel_multi_index(tuple(((where + self.halves) % self.sizes).T), self.sizes)
        port = np.full_like(nodes, 2 * len(self.sizes) + 1)
        jumps = np.stack([nodes, port, far, port], axis=1)[nodes < far]
        return np.concatenate([super().link_ends(), jumps]).astype(np.int32)

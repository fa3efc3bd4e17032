"""H-DCube (Guo et al., DCube): the switches form a hypercube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.families.dcube import CubeOfSwitches


@dataclass(frozen=True)
class HDCube(CubeOfSwitches):
    """hdcube:n,k -- <a, u> is joined to <a xor e_j, u>, j = u mod m."""

    name: ClassVar[str] = "hdcube"
    example: ClassVar[str] = "hdcube:4,2"
    cube: ClassVar[str] = "hyper"

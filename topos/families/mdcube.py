"""M-DCube (Guo et al., DCube): the switches form a 1-moebius cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.families.dcube import CubeOfSwitches


@dataclass(frozen=True)
class MDCube(CubeOfSwitches):
    """mdcube:n,k -- <a, u> is joined to <a xor e_j, u> if bit j + 1 of a is 0, else to
    <a xor E_j, u>; j = u mod m, bit m counts as 1, E_j has bits j to 0 set."""

    name: ClassVar[str] = "mdcube"
    example: ClassVar[str] = "mdcube:3,1"
    cube: ClassVar[str] = "mobius1"

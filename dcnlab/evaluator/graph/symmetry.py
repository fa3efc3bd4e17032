"""Networks whose servers are all alike: what one of them sees, all see."""

from __future__ import annotations

from topos.bases.cayley import CayleyGraph
from topos.fabric import Fabric
from topos.families.torus import Torus


def servers_alike(fabric: Fabric) -> bool:
    """True where an automorphism takes any server to any other: on tori, CLOT and NovaCube the shifts of
    coordinates (not with odd radices of CLOT), on Cayley graphs the multiplications.  False does not
    exclude it."""
    family = fabric.family
    return family.shifts if isinstance(family, Torus) else isinstance(family, CayleyGraph)

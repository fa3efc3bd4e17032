"""Every family as a Mininet ``Topo``, for stock Mininet.

    sudo mn --custom topos/mn.py --topo bcube,4,1 --controller none --test none

Hosts are h0, h1, ..., switches s0, s1, ... (the datapath id of s<j> is j + 1), and every link
joins the same ports as in the fabric.  ``mn`` runs this file as a script with any Python:
Debian's Python finds numpy in the project's ``.venv`` when both have the same version.
Stock Mininet starts no agents and no routing; ``dcnlab up`` does.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import ClassVar


def _find_project() -> None:
    """Append the project and its virtual environment to the search path."""
    frame = inspect.currentframe()
    assert frame is not None
    root = Path(frame.f_code.co_filename).resolve().parents[1]
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path += [str(root), str(root / ".venv" / "lib" / python / "site-packages")]


if __name__ != "topos.mn":  # mn executes the file without __name__ and __file__
    _find_project()

try:
    import numpy  # noqa: F401
except ImportError:
    raise SystemExit("topos/mn.py needs numpy: run `make setup` and use .venv/bin/mn") from None

from mininet.topo import Topo  # noqa: E402

from topos.registry import fabric, known  # noqa: E402


class FabricTopo(Topo):  # type: ignore[misc]
    """One family; its arguments are the parameters of the specification."""

    family: ClassVar[str]

    def build(self, *positional: object, **named: object) -> None:
        """Add nodes and links; raises SpecError when the arguments are wrong."""
        arguments = [str(value) for value in positional] + [f"{key}={value}" for key, value in named.items()]
        network = fabric(f"{self.family}:{','.join(arguments)}")
        for server in range(network.servers):
            self.addHost(network.name(server))
        for switch in range(network.switches):
            self.addSwitch(network.name(network.servers + switch), dpid=f"{switch + 1:016x}")
        for a, a_port, b, b_port in network.link_ends.tolist():
            self.addLink(network.name(a), network.name(b), port1=a_port, port2=b_port)


topos = {
    name: type(f"{family.__name__}Topo", (FabricTopo,), {"family": name}) for name, family in known().items()
}

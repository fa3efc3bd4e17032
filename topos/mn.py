"""Edge: every family as a Mininet ``Topo``, for stock Mininet.

    sudo mn --custom topos/mn.py --topo bcube,4,1 --controller none --test none

Hosts are h0, h1, ..., switches s0, s1, ... (datapath number of s<j>: j + 1), and every
cable joins the ports that it joins in the fabric.  ``mn`` runs this file by itself, with
any Python: Debian's finds numpy in the project's ``.venv`` when both are of the same
version.  Stock Mininet starts no agents and no routing; that is what ``dcnlab up`` does.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import ClassVar


def _find_project() -> None:
    """Make the project and its virtual environment importable, after everything else."""
    frame = inspect.currentframe()
    assert frame is not None
    root = Path(frame.f_code.co_filename).resolve().parents[1]
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path += [str(root), str(root / ".venv" / "lib" / python / "site-packages")]


if __name__ != "topos.mn":  # run by mn, which gives a file neither name nor path
    _find_project()

try:
    import numpy  # noqa: F401
except ImportError:
    raise SystemExit("topos/mn.py needs numpy: run `make setup` and use .venv/bin/mn") from None

from mininet.topo import Topo  # noqa: E402

from topos.registry import fabric, known  # noqa: E402


class FabricTopo(Topo):  # type: ignore[misc]
    """One family; arguments are those of its specification."""

    family: ClassVar[str]

    def build(self, *positional: object, **named: object) -> None:
        """Add nodes and cables; raises SpecError when the arguments name no network."""
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

"""dcnlab's topologies, relaying hosts and controller for stock Mininet.

    sudo mn --custom dcnlab/mn.py --topo bcube,4,1 --host relay --controller scheme,brp --test pingall

`dcnlab mn-file` prints where this file is.  In a program of one's own:

    from dcnlab.mn import FabricTopo, RelayHost, SchemeController
    net = Mininet(topo=FabricTopo("bcube:4,1"), host=RelayHost, controller=SchemeController("brp"))

``mn`` runs this file as a script with any Python: Debian's Python finds the packages in the project's
``.venv``, or beside an installed dcnlab, when both have the same version.  The classes are in
``dcnlab/lab/mininet/``.
"""

from __future__ import annotations

import inspect
import site
import sys
from pathlib import Path


def _find_project() -> None:
    """Append the project and its virtual environment to the search path."""
    frame = inspect.currentframe()
    assert frame is not None
    root = Path(frame.f_code.co_filename).resolve().parents[1]
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site.addsitedir(str(root))  # with the .pth files that lie there
    site.addsitedir(str(root / ".venv" / "lib" / python / "site-packages"))


if __name__ != "dcnlab.mn":  # mn executes the file without __name__ and __file__
    _find_project()

try:
    import numpy  # noqa: F401
except ImportError:
    raise SystemExit(
        "dcnlab/mn.py needs numpy: run `make setup` and use .venv/bin/mn, or the mn beside dcnlab"
    ) from None

from dcnlab.lab.mininet.controller import SchemeController  # noqa: E402
from dcnlab.lab.mininet.host import RelayHost  # noqa: E402
from dcnlab.lab.mininet.switch import SchemeSwitch  # noqa: E402
from dcnlab.lab.mininet.topo import FabricTopo, of_family  # noqa: E402
from topos.registry import known  # noqa: E402

__all__ = [
    "FabricTopo",
    "RelayHost",
    "SchemeController",
    "SchemeSwitch",
    "controllers",
    "hosts",
    "switches",
    "topos",
]

topos = {name: of_family(name) for name in known()}
hosts = {"relay": RelayHost}
switches = {"scheme": SchemeSwitch}
controllers = {"scheme": SchemeController}

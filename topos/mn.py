"""Every family as a Mininet ``Topo``: this file forwards to ``dcnlab/mn.py``, which has more.

sudo mn --custom topos/mn.py --topo bcube,4,1 --controller none --test none
"""

import inspect
from pathlib import Path


def _forward() -> None:
    """Run ``dcnlab/mn.py`` as ``mn --custom`` would, with the names of this file."""
    frame = inspect.currentframe()
    assert frame is not None
    file = Path(frame.f_code.co_filename).resolve().parents[1] / "dcnlab" / "mn.py"
    exec(compile(file.read_text(), str(file), "exec"), globals())


_forward()

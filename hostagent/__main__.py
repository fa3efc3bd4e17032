"""``python -m hostagent N OPTIONS``: the agents' parent, which a lab starts and orders about.

N is an inherited stream socket that carries JSON lines (see :mod:`hostagent`), OPTIONS one JSON
object (see :class:`hostagent.options.Options`).  The process ends when the other end of N is closed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys

from addressing.fields.ipv4 import AddressError
from addressing.scheme import LabelTooWide
from hostagent.channel import Channel
from hostagent.options import Options
from hostagent.runtime.factory import AgentFactory
from hostagent.runtime.supervisor import Supervisor
from topos.spec import SpecError


def main() -> int:
    """Serve; the exit code is 2 when the specifications name nothing that can run."""
    descriptor, options = int(sys.argv[1]), Options.from_json(json.loads(sys.argv[2]))
    control = Channel(socket.socket(fileno=descriptor))
    try:
        factory = AgentFactory(options)
        supervisor = Supervisor(factory, control)
    except (SpecError, LabelTooWide, AddressError) as error:
        with contextlib.suppress(OSError):  # the lab is gone already
            control.send({"event": "failed", "node": None, "error": str(error)})
        return 2
    with contextlib.suppress(BrokenPipeError):  # the lab is gone: so are we
        if factory.no_fast_path:
            control.send({"event": "no-fast-path", "reason": factory.no_fast_path})
        supervisor.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())

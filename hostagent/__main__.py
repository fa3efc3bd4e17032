"""``python -m hostagent N OPTIONS TURNS KEY``: the supervisor of a lab's agents.

N is the number of an inherited stream socket that carries JSON lines (see :mod:`hostagent`), OPTIONS a JSON
object (see :class:`hostagent.options.Options`), TURNS a descriptor of memory
(:mod:`hostagent.runtime.progress`), KEY one from which to read the key of control frames, which may be empty.
The process ends when the lab closes the socket.
"""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # imports leave no garbage; main() has it looked for again

import contextlib
import json
import socket
import sys
import traceback

from addressing.fields.ipv4 import AddressError
from addressing.scheme import LabelTooWide
from hostagent.linux.channel import Channel
from hostagent.options import Options
from hostagent.runtime import progress
from hostagent.runtime.factory import AgentFactory
from hostagent.runtime.supervisor import Supervisor
from topos import plugins
from topos.spec import SpecError


def main() -> int:
    """Serve the lab; the exit code is 2 if topology and scheme cannot run."""
    gc.enable()
    descriptor, options = int(sys.argv[1]), Options.from_json(json.loads(sys.argv[2]))
    control = Channel(socket.socket(fileno=descriptor))
    with open(int(sys.argv[4]), "rb") as file:
        key = file.read()
    try:
        factory = AgentFactory(options, key)
        supervisor = Supervisor(factory, control, cell=progress.shared_cell(int(sys.argv[3])))
    except (SpecError, LabelTooWide, AddressError) as error:
        _fail(control, str(error))
        return 2
    except Exception as error:  # of a topology or a scheme of the user's, as a rule
        traceback.print_exc()
        _fail(control, plugins.described(error))
        return 1
    with contextlib.suppress(BrokenPipeError):  # the lab has ended
        if factory.no_fast_path:
            control.send({"event": "no-fast-path", "reason": factory.no_fast_path})
        supervisor.serve()
    return 0


def _fail(control: Channel, text: str) -> None:
    with contextlib.suppress(OSError):  # the lab has ended already
        control.send({"event": "failed", "node": None, "error": text})


if __name__ == "__main__":
    sys.exit(main())

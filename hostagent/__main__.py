"""``python -m hostagent``: the agents' parent, which a lab starts and orders about.

    python -m hostagent --topology SPEC --scheme SPEC --control-fd N [--mode host|workers]

N is an inherited stream socket that carries JSON lines (see :mod:`hostagent`); the
process ends when the other end of it is closed.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import sys

from addressing.ipv4 import AddressError
from addressing.scheme import LabelTooWide
from hostagent.channel import Channel
from hostagent.options import Options
from hostagent.zygote import Zygote
from topos.registry import SpecError


def main() -> int:
    """Serve; the exit code is 2 when the specifications name nothing that can run."""
    arguments = _parser().parse_args()
    control = Channel(socket.socket(fileno=arguments.control_fd))
    chosen = (arguments.topology, arguments.scheme, arguments.mode, arguments.spread, arguments.seed)
    options = Options(
        *chosen,
        unconfigured=arguments.unconfigured,
        link_state=arguments.link_state,
        buffers=arguments.buffers,
        flow_control=arguments.flow_control,
        offloads=not arguments.no_offloads,
    )
    try:
        zygote = Zygote(options, control)
    except (SpecError, LabelTooWide, AddressError) as error:
        with contextlib.suppress(OSError):  # the lab is gone already
            control.send({"event": "failed", "node": None, "error": str(error)})
        return 2
    with contextlib.suppress(BrokenPipeError):  # the lab is gone: so are we
        zygote.serve()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hostagent", description=__doc__.splitlines()[0])
    parser.add_argument("--topology", required=True, metavar="SPEC")
    parser.add_argument("--scheme", required=True, metavar="SPEC")
    parser.add_argument("--control-fd", required=True, type=int, metavar="N")
    parser.add_argument("--mode", choices=("host", "workers"), default="host")
    parser.add_argument("--spread", choices=("flow", "packet", "probe"), default="flow")
    parser.add_argument("--seed", type=int, default=1, help="of the draws among several next hops")
    parser.add_argument("--link-state", choices=("lab", "agents"), default="lab", help="who tells of failures")
    parser.add_argument("--buffers", type=int, default=0, help="frames per buffer; 0: the kernel's")
    parser.add_argument("--flow-control", choices=("none", "credits"), default="none")
    parser.add_argument("--no-offloads", action="store_true", help="hosts compute their checksums")
    parser.add_argument("--unconfigured", action="store_true", help="start without IPv4 addresses")
    return parser


if __name__ == "__main__":
    sys.exit(main())

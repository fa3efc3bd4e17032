"""Loss on links by a small eBPF program where an interface sends: for kernels without netem."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

from dcnlab.lab.emulation.links.delays import LOSING
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError
from hostagent.linux import bpf
from hostagent.linux.bpf_assembler import Assembler, Register
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import attach_classifier

#: bpf_get_prandom_u32, and the verdicts of a classifier: go on with the next one; keep the packet, so that the
#: sender sees no error.  After an error an agent, or TCP, would send the packet again.
_RANDOM, _PASS, _LOSE = 7, -1, 4
_RANGE = 1 << 32


def problem() -> str:
    """Why this machine cannot run the program; empty where it can."""
    if reason := bpf.supported():
        return reason
    if os.geteuid() != 0:
        return "run as root"
    try:
        program(0.5)
    except bpf.BpfError as error:
        return error.strerror or str(error)
    return ""


@functools.cache
def program(share: float) -> int:
    """The program that loses this share of the packets, each independently; its descriptor.

    Raises BpfError where the kernel refuses it.
    """
    code = Assembler()
    code.call(_RANDOM)
    code.set(Register.R0, "=", Register.R0, bits=32)  # the helper may leave more bits
    code.constant(Register.R1, round(share * _RANGE))
    code.jump("lost", Register.R0, "<", Register.R1)
    code.exit(_PASS)
    code.label("lost")
    code.exit(_LOSE)
    return bpf.load_classifier(code.assemble())


def impose(namespace: str, shares: Mapping[str, float]) -> None:
    """Lose these shares of what each interface of a namespace sends; LabError where it is refused."""

    def attach() -> None:
        with Netlink() as netlink:
            indices = {name: one.index for name, one in netlink.interfaces().items()}
            for interface, share in shares.items():
                attach_classifier(netlink, indices[interface], program(share), ingress=False, preference=LOSING)

    try:
        netns.inside(namespace, attach)
    except OSError as error:
        raise LabError(f"loss cannot be imposed: {error.strerror}") from error

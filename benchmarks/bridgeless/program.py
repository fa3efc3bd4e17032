"""The switch fast path without Open vSwitch: one program at the ingress, which looks up and carries out."""

from __future__ import annotations

import os
from collections.abc import Iterable

from dcnlab.lab.switchpath.classifier import carry_out
from dcnlab.lab.switchpath.filter import look_up
from dcnlab.lab.switchpath.maps import SwitchMaps
from dcnlab.lab.switchpath.program import NOT_HANDLED, OUT_AT, Descriptors
from hostagent.linux import bpf
from hostagent.linux.bpf_assembler import Assembler, Register, Size
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import attach_ingress

R1, R6, R7, R8 = Register.R1, Register.R6, Register.R7, Register.R8
#: The number of the block of filters that the ports in a namespace share, as the fast path has it.
_BLOCK = 220


def lone_classifier(maps: Descriptors) -> bytes:
    """The filter and the classifier of the switch fast path in one; a frame without an entry goes on."""
    a = Assembler()
    a.set(R6, "=", R1)
    look_up(a, maps)
    a.load(Size.WORD, R8, R7, OUT_AT)
    a.store(Size.WORD, R7, OUT_AT, 0)
    carry_out(a, maps)
    for refused in ("everything", "not handled"):
        a.label(refused)
    a.exit(NOT_HANDLED)
    return a.assemble()


class LoneProgram:
    """The program, for all interfaces of a lab's switches."""

    def __init__(self, maps: SwitchMaps) -> None:
        self.descriptor = bpf.load_classifier(lone_classifier(maps.descriptors))

    def attach(self, interfaces: Iterable[int]) -> None:
        """Attach it to those of the interfaces that the present namespace has, as often as wanted."""
        with Netlink() as netlink:
            attach_ingress(netlink, interfaces, self.descriptor, _BLOCK)

    def close(self) -> None:
        """Give the descriptor up."""
        os.close(self.descriptor)

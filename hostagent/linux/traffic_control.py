"""Traffic control at interfaces: no queueing discipline, and BPF programs for what arrives or leaves."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from collections.abc import Iterable

from hostagent.linux.netlink import CREATE, EXCLUSIVE, REPLACE, Netlink, attribute

#: linux/pkt_sched.h, linux/pkt_cls.h.
_TRAFFIC = struct.Struct("=BxxxiIII")
_NEWQDISC, _NEWTFILTER, _ROOT = 36, 44, 0xFFFFFFFF
_CLSACT_HANDLE, _CLSACT_PARENT, _INGRESS, _EGRESS = 0xFFFF0000, 0xFFFFFFF1, 0xFFFFFFF2, 0xFFFFFFF3
_TCA_KIND, _TCA_OPTIONS, _TCA_BPF_FD, _TCA_BPF_NAME, _TCA_BPF_FLAGS, _DIRECT_ACTION = 1, 2, 6, 7, 8, 1
#: The attribute that names a block, and the interface index of filters of a block, whose parent it is.
_TCA_INGRESS_BLOCK, _ANY_OF_BLOCK = 13, -1
_ETH_P_ALL = 0x0003


def without_discipline(netlink: Netlink, index: int) -> None:
    """Have an interface that is not up yet get no queueing discipline: its driver gets what is sent."""
    body = _TRAFFIC.pack(socket.AF_UNSPEC, index, 0, _ROOT, 0) + attribute(_TCA_KIND, b"noqueue\0")
    netlink.request(_NEWQDISC, CREATE | REPLACE, body)


def attach_classifier(
    netlink: Netlink, index: int, program: int, *, ingress: bool, preference: int = 1
) -> None:
    """Run a BPF program (its descriptor) on what arrives at an interface, or on what leaves it; that of the
    least preference is first.

    The program stays with the interface after this process has ended.
    """
    with contextlib.suppress(FileExistsError):
        _add_clsact(netlink, index)
    _add_filter(netlink, index, _INGRESS if ingress else _EGRESS, program, preference)


def attach_ingress(netlink: Netlink, indices: Iterable[int], program: int, block: int) -> None:
    """Run a BPF program on what arrives at any of these interfaces; those of them that do not exist are left
    out.

    They share one block of filters, which has a number of its own in their namespace.  For each block the
    kernel looks through a list of all that the machine has.
    """
    shared = False
    for index in indices:
        try:
            _add_clsact(netlink, index, attribute(_TCA_INGRESS_BLOCK, struct.pack("=I", block)))
            shared = True
        except FileExistsError:
            shared |= not _add_own_filter(netlink, index, program)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
    if shared:
        _add_filter(netlink, _ANY_OF_BLOCK, block, program)


def _add_own_filter(netlink: Netlink, index: int, program: int) -> bool:
    """Add a filter to an interface, unless it shares a block or is gone; whether it shares none."""
    try:
        _add_filter(netlink, index, _INGRESS, program)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.ENODEV):
            raise
        return error.errno == errno.ENODEV
    return True


def _add_clsact(netlink: Netlink, index: int, attributes: bytes = b"") -> None:
    qdisc = _TRAFFIC.pack(socket.AF_UNSPEC, index, _CLSACT_HANDLE, _CLSACT_PARENT, 0)
    netlink.request(_NEWQDISC, CREATE | EXCLUSIVE, qdisc + attribute(_TCA_KIND, b"clsact\0") + attributes)


def _add_filter(netlink: Netlink, index: int, parent: int, program: int, preference: int = 1) -> None:
    options = (
        attribute(_TCA_BPF_FD, struct.pack("=I", program))
        + attribute(_TCA_BPF_NAME, b"dcnlab\0")
        + attribute(_TCA_BPF_FLAGS, struct.pack("=I", _DIRECT_ACTION))
    )
    body = _TRAFFIC.pack(socket.AF_UNSPEC, index, 1, parent, preference << 16 | socket.htons(_ETH_P_ALL))
    body += attribute(_TCA_KIND, b"bpf\0") + attribute(_TCA_OPTIONS, options)
    netlink.request(_NEWTFILTER, CREATE | REPLACE, body)

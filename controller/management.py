"""The management sockets of switches: there they speak OpenFlow 1.5, whose groups have a hash basis.

A connection to a controller has one version of OpenFlow, 1.3 here.  So the groups are added there, and get
their basis here.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from controller.openflow import encode
from controller.rules import Group

_HELLO, _ERROR, _BARRIER_REQUEST, _BARRIER_REPLY = 0, 1, 20, 21
_HEADER = struct.Struct("!BBHI")
#: Seconds without an answer, after which the switch counts as dead.
_STALL = 60.0
#: OpenFlow's errors about a group that has gone meanwhile: type, code.
_UNKNOWN_GROUP = (6, 8)


class Refused(OSError):
    """A switch has refused a message, or the version."""


def set_hash_basis(folder: Path, name: str, groups: Iterable[Group], basis: int) -> None:
    """Have the groups of switch ``name`` hash with ``basis``; OSError where that fails.

    Its socket is in ``folder`` or in one of the folders there.
    """
    path = next(
        (path for path in (folder / f"{name}.mgmt", *folder.glob(f"*/{name}.mgmt")) if path.exists()), None
    )
    if path is None:
        raise FileNotFoundError(f"{name} has no management socket in {folder}")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_STALL)
        connection.connect(str(path))
        messages = b"".join(encode.hashed_group(group, basis) for group in groups)
        connection.sendall(_empty(_HELLO) + messages + _empty(_BARRIER_REQUEST))
        with connection.makefile("rb") as stream:
            while True:
                header = stream.read(_HEADER.size)
                if len(header) < _HEADER.size:
                    raise Refused(f"{name} does not speak OpenFlow 1.5")
                _, kind, length, _ = _HEADER.unpack(header)
                body = stream.read(length - _HEADER.size)
                if kind == _ERROR and (error := struct.unpack_from("!HH", body)) != _UNKNOWN_GROUP:
                    raise Refused("{} refused a group's hash basis: type {}, code {}".format(name, *error))
                if kind == _BARRIER_REPLY:
                    return


def _empty(kind: int) -> bytes:
    return _HEADER.pack(encode.OPENFLOW_15, kind, _HEADER.size, 0)

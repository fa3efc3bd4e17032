"""Runs a classifier of eBPF on a frame (BPF_PROG_TEST_RUN)."""

from __future__ import annotations

import ctypes
import struct

from hostagent.linux import bpf

_PROG_TEST_RUN, _ATTRIBUTES = 10, 128
#: struct __sk_buff, and the interface in it.
_CONTEXT_SIZE, _CONTEXT_INTERFACE = 192, 40
_LARGEST_FRAME = 4096


def run(program: int, frame: bytes, interface: int) -> tuple[int, bytes]:
    """Run a classifier once on a frame as if it had come by ``interface``: its verdict (-1: not
    handled) and the frame afterwards.  Redirections are not carried out."""
    source = ctypes.create_string_buffer(frame, len(frame))
    result = ctypes.create_string_buffer(_LARGEST_FRAME)
    context = ctypes.create_string_buffer(_CONTEXT_SIZE)
    struct.pack_into("=I", context, _CONTEXT_INTERFACE, interface)
    attributes = bytearray(_ATTRIBUTES)
    struct.pack_into(
        "=IIIIQQIIIIQQ", attributes, 0, program, 0, len(frame), len(result),
        ctypes.addressof(source), ctypes.addressof(result), 1, 0,
        len(context), 0, ctypes.addressof(context), 0,
    )  # fmt: skip
    room = ctypes.create_string_buffer(bytes(attributes), len(attributes))
    bpf._call(_PROG_TEST_RUN, room)
    verdict, _, size = struct.unpack_from("=iII", room, 4)
    return verdict, result.raw[:size]

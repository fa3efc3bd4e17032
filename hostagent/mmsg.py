"""Many packets per system call: recvmmsg(2) and sendmmsg(2) over slots, through ctypes.

The kernel's message headers are laid out once; per batch only addresses and lengths
are written, as plain numbers through memory views, which costs a tenth of what ctypes
structures would.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import socket
from array import array

from hostagent.packet import HOST_AT

#: Slots of a batch, and the bytes of each: a packet of 64 KB and its headers, in whole pages.
BATCH = 64
SLOT_SIZE = 17 * mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_recvmmsg = _libc.recvmmsg
_recvmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]
_sendmmsg = _libc.sendmmsg
_sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]


class _Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("padding", ctypes.c_int),  # struct msghdr, which ends here, is aligned to 8 bytes
        ("length", ctypes.c_uint),
    )


class _Messages:
    """BATCH message headers, each with one vector."""

    def __init__(self) -> None:
        self.vectors = (_Vector * BATCH)()
        self.headers = (_Message * BATCH)()
        for vector, header in zip(self.vectors, self.headers, strict=True):
            header.vectors = ctypes.pointer(vector)
            header.vector_count = 1
        self.at = ctypes.addressof(self.headers)


class Slots:
    """The slots of one process: memory that counts only once it is touched.

    One batch is in them at a time: receive, decide, send, before the next.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, BATCH * SLOT_SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without huge pages
            self._memory.madvise(mmap.MADV_NOHUGEPAGE)
        whole = memoryview(self._memory)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.views = [whole[i * SLOT_SIZE : (i + 1) * SLOT_SIZE] for i in range(BATCH)]
        self.host_buffers = [[view[HOST_AT:]] for view in self.views]
        self.addresses = [first + i * SLOT_SIZE for i in range(BATCH)]
        self._incoming, self._outgoing = _Messages(), _Messages()
        for vector, address in zip(self._incoming.vectors, self.addresses, strict=True):
            vector.base, vector.length = address, SLOT_SIZE
        stride, place = ctypes.sizeof(_Message) // 4, _Message.length.offset // 4
        self._lengths = memoryview(self._incoming.headers).cast("B").cast("I")[place::stride]
        self._leaving = memoryview(self._outgoing.vectors).cast("B").cast("Q")

    def receive(self, descriptor: int) -> list[int]:
        """Fill slots 0, 1, ... with what waits at a socket; their lengths, nothing if nothing waits.

        Raises OSError (ENETDOWN after the interface has gone down).
        """
        count = _recvmmsg(descriptor, self._incoming.at, BATCH, socket.MSG_DONTWAIT, None)
        if count < 0:
            return _nothing_unless({errno.EAGAIN, errno.EINTR})
        return self._lengths[:count].tolist()

    def send(self, descriptor: int, extents: list[int]) -> int:
        """Send ``extents``, an address and a length per packet, in turn; how many were sent.

        A packet that the socket has no room for or that the kernel refuses is left out.
        """
        total = len(extents) // 2
        self._leaving[: 2 * total] = array("Q", extents)
        done = lost = 0
        while done + lost < total:
            offset = (done + lost) * ctypes.sizeof(_Message)
            count = _sendmmsg(descriptor, self._outgoing.at + offset, total - done - lost, socket.MSG_DONTWAIT)
            if count > 0:
                done += count
            else:
                lost += 1
        return done


def _nothing_unless(harmless: set[int]) -> list[int]:
    """An empty list if the last call failed harmlessly, otherwise the error itself."""
    number = ctypes.get_errno()
    if number not in harmless:
        raise OSError(number, errno.errorcode.get(number, "recvmmsg"))
    return []

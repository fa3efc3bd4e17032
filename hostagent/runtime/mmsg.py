"""Many packets per system call: recvmmsg(2) and sendmmsg(2) over slots, through ctypes.

The kernel's message headers are laid out once.  Per batch only addresses and lengths are written, as numbers
through memory views, in a tenth of the time that ctypes structures take.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import socket
from array import array
from typing import Final

import numpy as np

from hostagent.forwarding.batch import Headers
from hostagent.forwarding.packet import HOST_OFFSET, MAX_END

_CACHE_LINE = 64
#: The type code of an address or a length: an unsigned long, of 32 or 64 bits.
_WORD: Final = "L"

#: Packets of a batch; as many as there are slots where a socket's last packets were all SMALL, since these
#: touch little memory.
BATCH, BUFFER_COUNT, SMALL = 64, 256, 2048
#: Bytes of a slot: a packet of 64 KB and its headers.  Not a multiple of a page: otherwise all headers would
#: fall into the same few lines of the processor's cache.
BUFFER_SIZE = (MAX_END // _CACHE_LINE + 1) * _CACHE_LINE

_libc = ctypes.CDLL(None, use_errno=True)
_recvmmsg = _libc.recvmmsg
_recvmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]
_sendmmsg = _libc.sendmmsg
_sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]


class _Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (("header", _Header), ("length", ctypes.c_uint))


class _Messages:
    """BUFFER_COUNT message headers, each with one vector."""

    def __init__(self) -> None:
        self.vectors = (_Vector * BUFFER_COUNT)()
        self.headers = (_Message * BUFFER_COUNT)()
        for vector, message in zip(self.vectors, self.headers, strict=True):
            message.header.vectors = ctypes.pointer(vector)
            message.header.vector_count = 1
        self.at = ctypes.addressof(self.headers)


class PacketBuffers:
    """The slots of one process; the kernel provides their memory on first use.

    They hold one batch at a time: it is received, decided on and sent before the next.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, BUFFER_COUNT * BUFFER_SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without huge pages
            self._memory.madvise(mmap.MADV_NOHUGEPAGE)
        whole = memoryview(self._memory)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.views = [whole[i * BUFFER_SIZE : (i + 1) * BUFFER_SIZE] for i in range(BUFFER_COUNT)]
        self.headers = Headers(whole, BUFFER_COUNT, BUFFER_SIZE)
        self.host_buffers = [[view[HOST_OFFSET:]] for view in self.views]
        self.addresses = [first + i * BUFFER_SIZE for i in range(BUFFER_COUNT)]
        self._incoming, self._forwarded, self._outgoing = _Messages(), _Messages(), _Messages()
        for messages in (self._incoming, self._forwarded):
            for vector, address in zip(messages.vectors, self.addresses, strict=True):
                vector.base, vector.length = address, BUFFER_SIZE
        stride, place = ctypes.sizeof(_Message) // 4, _Message.length.offset // 4
        self._ends = memoryview(self._incoming.headers).cast("B").cast("I")[place::stride]
        #: Bytes of each packet of the last batch.
        self.lengths = np.asarray(self._ends)
        self._forwarded_lengths = np.frombuffer(memoryview(self._forwarded.vectors), np.uintp)[1::2]
        self._leaving = memoryview(self._outgoing.vectors).cast("B").cast(_WORD)
        #: Sockets with more small packets than a batch takes.
        self._small: set[int] = set()

    def receive(self, descriptor: int) -> int:
        """Receive waiting packets into slots 0, 1, ...; returns how many.

        Their sizes are in :attr:`lengths`.  Raises OSError (ENETDOWN after the interface has gone down).
        """
        most = BUFFER_COUNT if descriptor in self._small else BATCH
        count: int = _recvmmsg(descriptor, self._incoming.at, most, socket.MSG_DONTWAIT, None)
        if count < 0:
            _raise_unless({errno.EAGAIN, errno.EINTR})
            return 0
        if count == most:
            change = self._small.add if self.lengths[:count].max() <= SMALL else self._small.discard
            change(descriptor)
        return count

    def ends(self, count: int) -> list[int]:
        """The first ``count`` of :attr:`lengths` as a list, which is cheaper where they are few."""
        return self._ends[:count].tolist()

    def send(self, descriptor: int, extents: list[int]) -> int:
        """Send ``extents``, address and length of each packet in turn; returns how many were sent.

        Packets are skipped for which the socket has no room, or that the kernel refuses.
        """
        self._leaving[: len(extents)] = array(_WORD, extents)
        return _send(descriptor, self._outgoing, len(extents) // 2)

    def forward(self, descriptor: int, count: int) -> int:
        """Send the packets that :meth:`receive` put into the first ``count`` slots, as :meth:`send` does."""
        self._forwarded_lengths[:count] = self.lengths[:count]
        return _send(descriptor, self._forwarded, count)


def _send(descriptor: int, messages: _Messages, total: int) -> int:
    done = lost = 0
    while done + lost < total:
        offset = (done + lost) * ctypes.sizeof(_Message)
        count = _sendmmsg(descriptor, messages.at + offset, total - done - lost, socket.MSG_DONTWAIT)
        if count > 0:
            done += count
        else:
            lost += 1
    return done


def _raise_unless(harmless: set[int]) -> None:
    """Raise the last call's error unless it is harmless."""
    number = ctypes.get_errno()
    if number not in harmless:
        raise OSError(number, errno.errorcode.get(number, "recvmmsg"))

"""The frames of distributed labelling (WMGR, section IV-A).

A frame follows the Ethernet header with EtherType 0xA802; numbers are big-endian:

    flags 8 | port 8 | epoch 32 | sequence 16 | last received 16
    root 32 | letter 16 | width 8 | path vector: count 16, 16 of each | word: count 16, 16 of each
    prefix: bits 16, bytes | tag length 8 | tag | CRC-32 (see :mod:`hostagent.control.authentication`)

Any bytes decode to a frame or to a :class:`Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from addressing.algorithms.freegroup import Embedding
from hostagent.control.authentication import Rejection, authenticate, verify
from topos.graph import NONE

ETHERTYPE = 0xA802
#: The rank of no root at all.
NO_ROOT = 0xFFFFFFFF

_HEAD = struct.Struct(">BBIHH")
_TREE = struct.Struct(">IHB")
_COUNT = struct.Struct(">H")
_PARENT, _ADVERTISES, _LABELLED = 1, 2, 4
_LARGEST = 0xFFFF


@dataclass(frozen=True, slots=True)
class Label:
    """A node's label: its word of letters, and its prefix of ``length`` bits."""

    word: tuple[int, ...] = ()
    prefix: int = 0
    length: int = 0

    @classmethod
    def of(cls, tree: Embedding, node: int) -> Label:
        """The label of a node as it can learn it.

        In a fabric of several components this is without the letter of the component, which nodes cannot know.
        """
        value, length = tree.prefixes[node]
        bits = length - (_component_bits(tree, node) if tree.common else 0)
        return cls(tree.words[node][tree.common :], value & ((1 << bits) - 1), bits)

    def child(self, letter: int, width: int) -> Label:
        """The label of the child that has ``letter``, written in ``width`` bits."""
        return Label((*self.word, letter), self.prefix << width | letter, self.length + width)


def _component_bits(tree: Embedding, node: int) -> int:
    """The number of bits of a node's prefix that identify its component."""
    while tree.parents[node] != NONE:
        node = tree.parents[node]
    return tree.prefixes[node][1]


@dataclass(frozen=True, slots=True)
class Advertisement:
    """What a node advertises at one of its ports.

    ``root`` is the rank of the root that it follows, ``path_vector`` the ports on the path from there.  A child
    appends ``letter``, of ``width`` bits, to ``label``; letter 0: none is assigned.
    """

    root: int = NO_ROOT
    path_vector: tuple[int, ...] = ()
    #: The receiver is the sender's parent.
    parent: bool = False
    label: Label | None = None
    letter: int = 0
    width: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, sent by ``port``.

    ``last_received`` acknowledges the receiver's last sequence number.  Without an ``advertisement`` the frame
    is only an acknowledgement.
    """

    port: int
    epoch: int
    sequence: int
    last_received: int
    advertisement: Advertisement | None


def encode(frame: Frame, key: bytes | None = None) -> bytes:
    """The frame as bytes, with a tag when there is a ``key``."""
    advertisement = frame.advertisement
    flags = (
        0
        if advertisement is None
        else _ADVERTISES | (advertisement.parent and _PARENT) | (advertisement.label is not None and _LABELLED)
    )
    body = _HEAD.pack(flags, frame.port, frame.epoch, frame.sequence, frame.last_received)
    if advertisement is not None:
        label = advertisement.label or Label()
        size = (label.length + 7) // 8
        body += (
            _TREE.pack(advertisement.root, advertisement.letter, advertisement.width)
            + _numbers(advertisement.path_vector)
            + _numbers(label.word)
        )
        body += _COUNT.pack(label.length) + label.prefix.to_bytes(size, "big")
    return authenticate(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Frame | Rejection:
    """The frame that ``data`` begins with (Ethernet pads short frames), or why it is rejected."""
    try:
        reader = _Reader(data)
        flags, port, epoch, sequence, last_received = reader.fields(_HEAD)
        advertisement = _read_advertisement(reader, flags) if flags & _ADVERTISES else None
    except struct.error:
        return Rejection.LENGTH
    rejection = verify(data, reader.at, ETHERTYPE, key)
    if rejection is not None:
        return rejection
    if (
        not port
        or flags & ~(_PARENT | _ADVERTISES | _LABELLED)
        or (advertisement and not _is_consistent(advertisement))
    ):
        return Rejection.CONTENT
    return Frame(port, epoch, sequence, last_received, advertisement)


def _is_consistent(advertisement: Advertisement) -> bool:
    """Whether the fields of an advertisement are consistent."""
    label = advertisement.label
    if advertisement.root == NO_ROOT and (advertisement.path_vector or label or advertisement.letter):
        return False
    if label is not None and (
        label.prefix >> label.length or len(label.word) != len(advertisement.path_vector)
    ):
        return False
    return not advertisement.letter >> advertisement.width and (label is not None or not advertisement.letter)


def _numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f">H{len(values)}H", len(values), *values)


class _Reader:
    """Reads fields one after the other; struct.error where the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def fields(self, layout: struct.Struct) -> tuple[int, ...]:
        values = layout.unpack_from(self._data, self.at)
        self.at += layout.size
        return values

    def numbers(self) -> tuple[int, ...]:
        (count,) = self.fields(_COUNT)
        return self.fields(struct.Struct(f">{count}H"))

    def bits(self) -> tuple[int, int]:
        (length,) = self.fields(_COUNT)
        (value,) = struct.Struct(f">{(length + 7) // 8}s").unpack_from(self._data, self.at)
        self.at += len(value)
        return int.from_bytes(value, "big"), length


def _read_advertisement(reader: _Reader, flags: int) -> Advertisement:
    root, letter, width = reader.fields(_TREE)
    path_vector, word = reader.numbers(), reader.numbers()
    prefix, length = reader.bits()
    label = Label(word, prefix, length) if flags & _LABELLED else None
    return Advertisement(root, path_vector, bool(flags & _PARENT), label, letter, width)

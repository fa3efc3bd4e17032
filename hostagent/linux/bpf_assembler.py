"""A small assembler for BPF programs (RFC 9669): what the fast path needs, no more.

Registers are the names ``R0`` to ``R9`` and ``FP``; an operand is a register or a number.
Jumps name labels, which :meth:`Assembler.label` sets.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator
from contextlib import contextmanager


class Register(enum.IntEnum):
    """The registers of the BPF machine: R0 results, R1 to R5 arguments, R6 to R9 kept by calls."""

    R0 = 0
    R1 = 1
    R2 = 2
    R3 = 3
    R4 = 4
    R5 = 5
    R6 = 6
    R7 = 7
    R8 = 8
    R9 = 9
    #: The frame pointer, read only: the stack lies below it.
    FP = 10


class Size(enum.IntEnum):
    """How much a load or a store moves."""

    WORD = 0x00
    HALF = 0x08
    BYTE = 0x10
    DOUBLE = 0x18


Operand = Register | int

_LOAD, _STORE, _STORE_IMMEDIATE = 0x61, 0x63, 0x62
_ATOMIC_ADD_DOUBLE, _LOAD_IMMEDIATE_DOUBLE = 0xDB, 0x18
_JUMP, _CALL, _EXIT = 0x05, 0x85, 0x95
_FROM_REGISTER = 0x08
_ALU32, _ALU64 = 0x04, 0x07
_MAP_DESCRIPTOR, _MAP_VALUE, _MAP_LOOKUP = 1, 2, 1
_JUMPS = {"": 0x00, "==": 0x10, ">": 0x20, ">=": 0x30, "&": 0x40, "!=": 0x50, "<": 0xA0, "<=": 0xB0}
_OPERATIONS = {
    "+": 0x00, "-": 0x10, "*": 0x20, "|": 0x40, "&": 0x50,
    "<<": 0x60, ">>": 0x70, "%": 0x90, "^": 0xA0, "=": 0xB0,
}  # fmt: skip
_WORD_MASK = 0xFFFFFFFF


class Assembler:
    """The instructions of one program, in order."""

    def __init__(self) -> None:
        self._code: list[tuple[int, int, int, int | str, int]] = []
        self._labels: dict[str, int] = {}

    def set(self, to: Register, operation: str, by: Operand, *, bits: int = 64) -> None:
        """``to operation= by`` in 64 or 32 bits; ``=`` alone moves."""
        code = _OPERATIONS[operation] | (_ALU64 if bits == 64 else _ALU32)
        if isinstance(by, Register):
            self._emit(code | _FROM_REGISTER, to, by)
        else:
            self._emit(code, to, value=by)

    def sum(self, to: Register, base: Register, by: Operand) -> None:
        """``to = base + by``."""
        self.set(to, "=", base)
        self.set(to, "+", by)

    def constant(self, to: Register, value: int) -> None:
        """``to = value``, 64 bits without a sign."""
        self._emit(_LOAD_IMMEDIATE_DOUBLE, to, value=_signed(value & _WORD_MASK))
        self._emit(0, value=_signed(value >> 32))

    def load(self, size: Size, to: Register, base: Register, offset: int = 0) -> None:
        """``to = *(base + offset)``, in the processor's byte order."""
        self._emit(_LOAD | size, to, base, offset)

    def store(self, size: Size, base: Register, offset: int, value: Operand) -> None:
        """``*(base + offset) = value``."""
        if isinstance(value, Register):
            self._emit(_STORE | size, base, value, offset)
        else:
            self._emit(_STORE_IMMEDIATE | size, base, 0, offset, value)

    def atomic_add(self, base: Register, offset: int, by: Register) -> None:
        """``*(u64 *)(base + offset) += by``, whatever other processors do meanwhile."""
        self._emit(_ATOMIC_ADD_DOUBLE, base, by, offset)

    def jump(self, label: str, left: Register = Register.R0, relation: str = "", right: Operand = 0) -> None:
        """Go to a label, always or where ``left relation right`` (unsigned) holds."""
        if isinstance(right, Register):
            self._emit(_JUMP | _JUMPS[relation] | _FROM_REGISTER, left, right, label)
        else:
            self._emit(_JUMP | _JUMPS[relation], left, 0, label, right)

    def label(self, name: str) -> None:
        """Where jumps to ``name`` go."""
        self._labels[name] = len(self._code)

    @contextmanager
    def where(self, left: Register, relation: str, right: Operand) -> Iterator[None]:
        """What the block emits is carried out where ``left relation right`` holds."""
        inside, after = (f"{word} {len(self._code)}" for word in ("inside", "after"))
        self.jump(inside, left, relation, right)
        self.jump(after)
        self.label(inside)
        yield
        self.label(after)

    def map(self, to: Register, descriptor: int) -> None:
        """``to`` = a map."""
        self._emit(_LOAD_IMMEDIATE_DOUBLE, to, _MAP_DESCRIPTOR, 0, descriptor)
        self._emit(0)

    def map_value(self, to: Register, descriptor: int) -> None:
        """``to`` = the address of the only value of an array map."""
        self._emit(_LOAD_IMMEDIATE_DOUBLE, to, _MAP_VALUE, 0, descriptor)
        self._emit(0)

    def look_up(self, table: int, key: int, otherwise: str) -> None:
        """R0 = the value of a map under the key at ``FP + key``; go to a label where there is none."""
        self.map(Register.R1, table)
        self.sum(Register.R2, Register.FP, key)
        self.call(_MAP_LOOKUP)
        self.jump(otherwise, Register.R0, "==", 0)

    def call(self, helper: int, *arguments: Operand) -> None:
        """Call a helper of the kernel: ``arguments`` become R1 to R5, which are lost; R0 out."""
        for register, argument in zip(list(Register)[1:], arguments, strict=False):
            if argument is not register:
                self.set(register, "=", argument)
        self._emit(_CALL, value=helper)

    def exit(self, result: Operand) -> None:
        """End the program with this result."""
        if result is not Register.R0:
            self.set(Register.R0, "=", result)
        self._emit(_EXIT)

    def assemble(self) -> bytes:
        """The program in the processor's byte order."""
        words = []
        for place, (code, to, by, offset, value) in enumerate(self._code):
            distance = self._labels[offset] - place - 1 if isinstance(offset, str) else offset
            words.append(struct.pack("=BBhi", code, to | by << 4, distance, value))
        return b"".join(words)

    def _emit(self, code: int, to: int = 0, by: int = 0, offset: int | str = 0, value: int = 0) -> None:
        self._code.append((code, to, by, offset, value))


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word

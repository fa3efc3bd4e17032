"""What the program in each server of a replication is asked for, and what it prints at the end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Forwarded:
    """A part of the data, and the addresses to which it is forwarded while it still arrives."""

    offset: int
    length: int
    to: list[str]


@dataclass(frozen=True)
class Task:
    """Where the program listens, how many bytes there are, whether its server has them (``source``), and their
    parts."""

    address: str
    port: int
    size: int
    source: bool
    parts: list[Forwarded]


@dataclass(frozen=True)
class Replica:
    """When everything had arrived, in seconds of the machine's clock, and its SHA-256."""

    done: float
    sha256: str

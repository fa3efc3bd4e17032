"""Keys and values."""

from __future__ import annotations

from dataclasses import dataclass, field

from dcnlab.lab.contract.answer import ABSENT, Answer


@dataclass(frozen=True, eq=False)
class Replica(Answer):
    """A replica server of a key: whether it answers, and the bytes of its copy (None without the newest)."""

    server: str
    answers: bool
    bytes: int | None


@dataclass(frozen=True, eq=False)
class StoredKey(Answer):
    """A key: the bytes of its value, and the servers that have the newest copy."""

    key: str
    bytes: int
    servers: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class KeysFound(Answer):
    """What an operation on keys says: the ``servers`` that have stored or deleted a value; the ``server`` with
    the newest copy and its bytes; the replica servers of a key (``places``); all ``keys``."""

    servers: list[str] | None = field(default=None, metadata=ABSENT)
    server: str | None = field(default=None, metadata=ABSENT)
    value: int | None = field(default=None, metadata=ABSENT)
    places: list[Replica] | None = field(default=None, metadata=ABSENT)
    keys: list[StoredKey] | None = field(default=None, metadata=ABSENT)  # type: ignore[assignment]  # hides that of dictionaries


@dataclass(frozen=True, eq=False)
class StorePlace(Answer):
    """Where the store of a server listens."""

    address: str
    port: int

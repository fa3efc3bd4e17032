"""Programs and services in hosts."""

from __future__ import annotations

from dataclasses import dataclass

from dcnlab.lab.contract.answer import Answer


@dataclass(frozen=True, eq=False)
class Exit(Answer):
    """The exit code of a program."""

    exit: int


@dataclass(frozen=True, eq=False)
class ServiceState(Answer):
    """A service in one host: ``pid`` inside the lab, ``state`` (running or ended), exit code, time to ready."""

    name: str
    node: str
    run: tuple[str, ...]
    pid: int | None
    state: str
    exit: int | None
    ready_ms: float | None


@dataclass(frozen=True, eq=False)
class ServiceLog(Answer):
    """What a service has written: the end of it, and how many bytes it was in all."""

    text: str
    bytes: int

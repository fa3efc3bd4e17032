"""A program to run in a node, and what it gets: environment, folder, files of its host's own, limits.  Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import UsageError

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# No machine has more memory, or more processors, than so many digits can say.
_SIZE = re.compile(r"(\d{1,15})\s*([KMG]?)(i?B)?", re.ASCII)
_PERCENT = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*%", re.ASCII)
_SHELL = "sh"
#: The least share of a processor, in percent, and memory in bytes, that a limit may leave.
_LEAST_CPU, _LEAST_MEMORY = 1.0, 1 << 20


@dataclass(frozen=True)
class Program:
    """What to run.

    ``private`` are folders that the host has for itself: its programs share them, other hosts and the machine
    do not see what they write there.  ``cpu`` is a limit in percent of one processor, ``memory`` one in bytes;
    0 is no limit.  ``image`` is the root file system (:mod:`dcnlab.lab.options.images`); empty: the host's.
    """

    words: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    private: tuple[str, ...] = ()
    cpu: float = 0.0
    memory: int = 0
    image: str = ""

    def __post_init__(self) -> None:
        if not self.words or not self.name:
            raise UsageError("say what to run")
        for name in self.env:
            if not name or "=" in name:
                raise UsageError(f"env: {name!r} is no name of a variable: it must not be empty or contain =")
        if any(
            "\0" in text
            for text in (*self.words, *self.env, *self.env.values(), self.cwd, *self.private, self.image)
        ):
            raise UsageError("no word, variable or folder of a program can contain a null character")
        for folder in self.private:
            if not folder.startswith("/") or folder.rstrip("/") == "":
                raise UsageError(f"private: {folder!r} must be a folder below /, such as /var/log")

    @property
    def name(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].rpartition("/")[2]

    def to_json(self) -> JsonObject:
        """Return it as a JSON object."""
        return asdict(self)

    @classmethod
    def of(
        cls,
        words: str | Iterable[object],
        env: Mapping[str, object] | None = None,
        cwd: str | os.PathLike[str] = "",
        private: Iterable[str] = (),
        cpu: str = "",
        memory: str = "",
        image: str | os.PathLike[str] = "",
    ) -> Program:
        """Make the program that a user asks for; limits are such as ``20%`` and ``256M``.

        Raises UsageError for what cannot be."""
        if isinstance(private, str):
            raise UsageError(f"private must be a list such as {private.split()!r}, not {private!r}")
        given = {"words": command(words), "env": env or {}, "cwd": cwd, "private": private}
        if image:
            from dcnlab.lab.options.images import Image  # few programs have one

            given["image"] = str(Image.parse(os.fspath(image)))
        return cls.from_json({**given, **read_limits(cpu, memory)})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Program:
        """The inverse of :meth:`to_json`; UsageError for what is of the wrong kind."""
        try:
            return cls(
                words=tuple(map(str, value["words"])),
                env={str(name): str(text) for name, text in value.get("env", {}).items()},
                cwd=str(value.get("cwd", "")),
                private=tuple(map(str, value.get("private", ()))),
                cpu=float(value.get("cpu", 0)),
                memory=int(value.get("memory", 0)),
                image=str(value.get("image", "")),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise UsageError(f"not a program: {error!r}") from None


def command(words: str | Iterable[object]) -> Iterable[object]:
    """The words of a program; text is a command of a shell, as in a terminal."""
    if not isinstance(words, str):
        return words
    return (_SHELL, "-c", words) if words.strip() else ()


def read_limits(cpu: str, memory: str) -> JsonObject:
    """Read ``cpu`` in percent of a processor and ``memory`` in bytes, 0 without limit; UsageError otherwise."""
    try:
        return {"cpu": read_cpu(cpu) if cpu else 0.0, "memory": read_memory(memory) if memory else 0}
    except ValueError as error:
        raise UsageError(str(error)) from None


def read_cpu(text: str) -> float:
    """Read the percent of one processor from ``20%`` or ``150%``; ValueError with half a sentence."""
    match = _PERCENT.fullmatch(str(text).strip())
    if match is None or float(match[1]) < _LEAST_CPU:
        raise ValueError(
            f"cpu must be a share of one processor from {_LEAST_CPU:g}%, such as 20%, not {text!r}"
        )
    return float(match[1])


def read_memory(text: str) -> int:
    """Bytes of ``256M``; ValueError with half a sentence."""
    match = _SIZE.fullmatch(str(text).strip())
    size = int(match[1]) * _SIZES[match[2]] if match else 0
    if size < _LEAST_MEMORY:
        raise ValueError(f"memory must be a size from 1M, such as 256M, not {text!r}")
    return size

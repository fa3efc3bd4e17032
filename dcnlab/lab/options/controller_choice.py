"""Who controls the switches of a lab: ours, nobody, a controller elsewhere, or the user's applications."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from controller import applications
from dcnlab.lab.errors import OptionError

FORMS = (
    "ours, none, remote:HOST:PORT, ssl:HOST:PORT (several with commas), app:FILE.py[,MODULE...] or"
    " app-only:FILE.py[,MODULE...]"
)
#: The most controllers of a lab.
MOST_REMOTES = 8

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class ControllerChoice:
    """The option ``controller``, taken apart.

    ``tables``: whether our own application installs the scheme's tables.
    """

    text: str
    kind: Literal["ours", "none", "remote", "app"]
    tables: bool = False
    tls: bool = False
    #: Hosts and ports of the controllers elsewhere.
    remotes: tuple[tuple[str, int], ...] = ()
    #: Files and modules that define Ryu or os-ken applications.
    applications: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> ControllerChoice:
        """Read what a user wrote; OptionError with the forms that there are."""
        word, _, rest = text.partition(":")
        if text == "ours":
            return cls(text, "ours", tables=True)
        if text == "none":
            return cls(text, "none")
        if word in ("remote", "ssl"):
            return cls(text, "remote", tls=word == "ssl", remotes=_remotes(text, word))
        if word in ("app", "app-only"):
            names = tuple(name.strip() for name in rest.split(","))
            if not all(names):
                raise OptionError("controller", f"controller {text!r} is not {word}:FILE.py[,MODULE...]")
            return cls(text, "app", tables=word == "app", applications=names)
        raise OptionError("controller", f"controller must be {FORMS}, not {text!r}")

    def named(self, number: int) -> str:
        """The ``number``-th of several controllers elsewhere, as it is written."""
        return self.text.split(",")[number]

    def resolved(self) -> str:
        """The text with absolute paths of files: for machines where this process is not."""
        if self.kind != "app":
            return self.text
        names = (
            str(Path(name).resolve()) if applications.is_file(name) else name for name in self.applications
        )
        return f"{self.text.partition(':')[0]}:{','.join(names)}"

    def library(self, default: str) -> str:
        """The library that the applications are written for; OptionError where they cannot be loaded."""
        try:
            return applications.library(self.applications) or default
        except applications.ApplicationError as error:
            raise OptionError("controller", str(error)) from error

    def nobodys_job(self, relaying: bool) -> str:
        """What nobody does, or the foreign controller must do, when our tables are missing; empty otherwise."""
        if self.tables:
            return ""
        who = {"none": "nobody controls the switches", "remote": f"{self.text} controls the switches"}
        verb = "controls" if len(self.applications) == 1 else "control"
        named = who.get(self.kind, f"{', '.join(self.applications)} {verb} the switches")
        if relaying:
            done = "agents relay by the scheme, but forwarding by labels in switches"
        else:
            done = "forwarding, answers to ARP and routing around failures"
        else_ = "by hand" if self.kind == "none" else "of that controller"
        return f"{named}: {done} {'is' if relaying else 'are'} left to entries {else_}; the lab installs none"


def _remotes(text: str, word: str) -> tuple[tuple[str, int], ...]:
    """The controllers in ``remote:HOST:PORT,remote:HOST:PORT``; OptionError for what is none."""
    remotes = []
    for part in text.split(","):
        address = _ADDRESS.fullmatch(part.removeprefix(f"{word}:")) if part.startswith(f"{word}:") else None
        if address is None or not 0 < int(address["port"]) < 1 << 16:
            raise OptionError("controller", f"controller {part!r} is not {word}:HOST:PORT")
        remotes.append((address["host"].strip("[]"), int(address["port"])))
    if len(set(remotes)) < len(remotes) or len(remotes) > MOST_REMOTES:
        raise OptionError("controller", f"controller {text!r}: name {MOST_REMOTES} at most, each once")
    return tuple(remotes)

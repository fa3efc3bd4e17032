"""Root file systems of hosts, as a user names them: a folder, or an image.  Pure.

``h3=DIR`` is a folder that holds a root file system, ``h*=oci:DIR:TAG`` an image of an OCI layout on disk
(https://github.com/opencontainers/image-spec/blob/main/image-layout.md), ``h3=podman:NAME`` one of a container
engine on this machine.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from dcnlab.lab.errors import OptionError, UsageError

_LAYOUT = "oci:"
#: Container engines, also by the names that skopeo has for their images.
_ENGINES = {"podman": "podman", "containers-storage": "podman", "docker": "docker", "docker-daemon": "docker"}
_NAME = re.compile(r"[a-zA-Z0-9][\w./:@-]*", re.ASCII)
_ARCHIVE = re.compile(r"(docker-archive|oci-archive|dir):")
_TAG = re.compile(r"[\w][\w.-]{0,127}", re.ASCII)


@dataclass(frozen=True)
class Image:
    """Where a root file system comes from: a ``folder``; in a layout, with a ``tag`` where it has several.

    With an ``engine``, podman or docker, the folder is the name that the engine has for its image.
    """

    folder: str
    layout: bool = False
    tag: str = ""
    engine: str = ""

    @classmethod
    def parse(cls, text: str, base: str = "") -> Self:
        """What a user wrote; folders are relative to ``base``, or to this process's folder.  UsageError for
        anything else."""
        kind, _, name = text.partition(":")
        if kind in _ENGINES:
            return cls._of_engine(text, _ENGINES[kind], name)
        if _ARCHIVE.match(text):
            raise UsageError(f"image: {text}: write it into a folder first: `skopeo copy {text} oci:DIR`")
        if not text.startswith(_LAYOUT):
            return cls(_absolute(text, base))
        folder, colon, tag = text.removeprefix(_LAYOUT).rpartition(":")
        if colon and _TAG.fullmatch(tag) and "/" not in tag:
            return cls(_absolute(folder, base), True, tag)
        return cls(_absolute(text.removeprefix(_LAYOUT), base), True)

    @classmethod
    def _of_engine(cls, text: str, engine: str, name: str) -> Self:
        if name.startswith("//"):
            raise UsageError(
                f"image: {text}: dcnlab downloads nothing: `{engine} pull {name[2:]}`, then {engine}:{name[2:]}"
            )
        if not _NAME.fullmatch(name):
            raise UsageError(f"image: {text}: give {engine}:NAME, as `{engine} image ls` shows it")
        return cls(name, engine=engine)

    def __str__(self) -> str:
        if self.engine:
            return f"{self.engine}:{self.folder}"
        return f"{_LAYOUT if self.layout else ''}{self.folder}{':' + self.tag if self.tag else ''}"


def _absolute(folder: str, base: str) -> str:
    if not folder or "\0" in folder:
        raise UsageError("image: name a folder, oci:DIR[:TAG] or podman:NAME")
    return os.path.abspath(os.path.join(base, folder))


def parse(text: str, base: str = "") -> tuple[tuple[str, Image], ...]:
    """The patterns of hosts and their images that an option names, separated by commas."""
    images = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        pattern, equals, source = part.partition("=")
        if not equals or not pattern.strip():
            raise OptionError(
                "image",
                f"image takes HOST=DIR, HOST=oci:DIR:TAG or HOST=podman:NAME, such as h*=web, not {part!r}",
            )
        try:
            images.append((pattern.strip(), Image.parse(source.strip(), base)))
        except UsageError as error:
            raise OptionError("image", str(error)) from None
    return tuple(images)


def check(text: str, servers: Iterable[str]) -> None:
    """Raise OptionError where a pattern names no server."""
    names = list(servers)
    for pattern, _ in parse(text):
        if not fnmatch.filter(names, pattern):
            raise OptionError("image", f"image: no server is named {pattern}")


def relative_to(text: str, base: str) -> str:
    """An option with its folders as seen from any folder; unchanged where it is wrong, which is found later."""
    try:
        return ",".join(f"{pattern}={image}" for pattern, image in parse(text, base))
    except OptionError:
        return text


def of_host(text: str, host: str) -> str:
    """The image of a host, in the form that :meth:`Image.parse` reads; empty where it has none.

    The last pattern that matches decides.
    """
    return next((str(one) for pattern, one in reversed(parse(text)) if fnmatch.fnmatchcase(host, pattern)), "")

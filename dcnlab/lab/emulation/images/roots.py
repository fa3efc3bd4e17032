"""The root file systems of a lab's hosts: an image that all share, and above it what each host has written.

They are overlays in the lab's own mount namespace.  What hosts write is in the lab's memory, and ends with it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dcnlab.lab.emulation.images import cache, layout
from dcnlab.lab.emulation.isolation.identities import Range
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.options.images import Image
from hostagent.linux.mounts import mount, mount_sys_with_others

_FOLDER = Path("/run/dcnlab-roots")
_BIND, _REC = 0x1000, 0x4000
#: What hosts have from the lab, and not from their image.
_SHARED = ("proc", "sys", "dev")
_FILES = ("hosts", "resolv.conf")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_LINKS = 40


@dataclass(frozen=True)
class Root:
    """A host's root file system: where it is mounted, and the environment and the folder of its programs."""

    path: Path
    env: dict[str, str]
    folder: str

    def environment(self) -> dict[str, str]:
        """The environment of its programs; the machine's programs that lead there are on the path as well."""
        variables = {"HOME": "/root", **self.env}
        folders = dict.fromkeys([*variables.get("PATH", "").split(":"), *_PATH.split(":")])
        return {**variables, "PATH": ":".join(filter(None, folders))}

    def find(self, program: str) -> bool:
        """Whether a program exists in it."""
        places = [program] if "/" in program else [f"{one}/{program}" for one in self._folders()]
        return any(self.resolve(place).is_file() for place in places)

    def resolve(self, path: str) -> Path:
        """Where a path of the host is for the lab: links lead nowhere outside."""
        parts, done, links = path.split("/")[::-1], Path(), 0
        while parts:
            part = parts.pop()
            if part == "..":
                done = done.parent
            elif part not in ("", "."):
                here = self.path / done / part
                if here.is_symlink() and links < _MOST_LINKS:
                    links += 1
                    target = os.readlink(here)
                    done = Path() if target.startswith("/") else done
                    parts += target.split("/")[::-1]
                else:
                    done /= part
        return self.path / done

    def command(self, folder: str, argv: list[str]) -> list[str]:
        """A command line that runs ``argv`` there."""
        return ["unshare", f"--root={self.path}", f"--wd={folder or self.folder}", "--", *argv]

    def _folders(self) -> list[str]:
        return self.environment()["PATH"].split(":")


class Roots:
    """The root file systems of a lab by host and image; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roots: dict[tuple[str, str], Root] = {}
        self._below: dict[Path, Path] = {}

    def ready(self, host: str, image: str, owner: Range | None = None) -> Root:
        """Mount an image as a host's root unless it is; UsageError or LabError with one line.

        ``owner`` are the users of an isolated host, who own the folders then.
        """
        with self._lock:
            root = self._roots.get((host, image))
            if root is None:
                root = self._roots[host, image] = self._make(host, Image.parse(image), owner)
            return root

    def _make(self, host: str, image: Image, owner: Range | None) -> Root:
        files = image_files(image)
        below = self._bound(cache.unpacked(files) if files else Path(image.folder))
        place = _FOLDER / host / str(len(self._roots))
        for name in ("upper", "work", "root"):
            (place / name).mkdir(parents=True)
        (place / "upper").chmod(0o755)
        if owner is not None and owner[1]:
            _give_folders(below, place / "upper", owner)
        options = f"lowerdir={below},upperdir={place}/upper,workdir={place}/work"
        try:
            mount("overlay", str(place / "root"), "overlay", 0, options + _own_attributes())
            _share(host, place / "root", isolated=owner is not None)
        except OSError as error:
            raise LabError(f"image: {host} cannot have {image} as its root: {error.strerror}") from error
        env = dict(one.split("=", 1) for one in files.env) if files else {}
        return Root(place / "root", env, files.folder if files else "/")

    def _bound(self, folder: Path) -> Path:
        """The folder under a name without characters that mean something to overlayfs."""
        if folder not in self._below:
            place = _FOLDER / "images" / str(len(self._below))
            place.mkdir(parents=True)
            try:
                mount(str(folder), str(place), "", _BIND)
            except OSError as error:
                raise LabError(f"image: {folder}: {error.strerror}") from error
            self._below[folder] = place
        return self._below[folder]


def image_files(image: Image) -> layout.ImageFiles | None:
    """What a layout has of an image; None for a folder.  UsageError where it does not exist."""
    if image.engine:
        raise UsageError(f"image: {image}: a lab takes folders and layouts only: give oci:DIR")
    if image.layout:
        return layout.read(Path(image.folder), image.tag)
    if not os.path.isdir(image.folder):
        raise UsageError(f"image: there is no folder {image.folder}")
    if not any(os.path.isdir(os.path.join(image.folder, name)) for name in ("bin", "usr", "sbin")):
        raise UsageError(f"image: {image.folder} has no bin, sbin or usr: is it a root file system?")
    return None


def overlay_problem() -> str:
    """Why this kernel cannot have such roots; empty where it can."""
    known = Path("/proc/filesystems").read_text().split()
    return "" if "overlay" in known else "this kernel has no overlayfs: modprobe overlay"


def _own_attributes() -> str:
    """Where overlayfs keeps its notes: in an ordinary user's lab, in attributes that users may set."""
    return "" if cache.may_change_owners() else ",userxattr"


def _give_folders(below: Path, upper: Path, owner: Range) -> None:
    """Make an image's folders belong to the users of a host, so that they can write there.

    Its files stay with the users outside: a host replaces them, but does not change them in place.
    """
    _, first, size = owner
    for folder, _, _ in os.walk(below):
        ours, theirs = upper / os.path.relpath(folder, below), os.lstat(folder)
        ours.mkdir(exist_ok=True)
        os.chown(ours, first + theirs.st_uid % size, first + theirs.st_gid % size)
        ours.chmod(stat.S_IMODE(theirs.st_mode) & 0o1777)


def _share(host: str, root: Path, *, isolated: bool) -> None:
    """Show the lab's names of servers in a root, and its processes, interfaces and devices.

    An ``isolated`` host has the latter of its own; here they get their places.
    """
    for name in (*_SHARED, "etc", "tmp", *(("run",) if isolated else ())):
        if (root / name).is_symlink():
            raise LabError(f"image: /{name} is a link there, and must be a folder")
        (root / name).mkdir(exist_ok=True)
    for name in () if isolated else _SHARED:
        mount(f"/{name}", str(root / name), "", _BIND | _REC)
    if not isolated:
        with contextlib.suppress(OSError):  # a container may forbid it; then the lab's stays
            netns.inside(host, partial(mount_sys_with_others, root / "sys"))
    for name in _FILES:
        ours, theirs = Path("/etc", name), root / "etc" / name
        if ours.is_file():
            if theirs.is_symlink() or not theirs.exists():
                theirs.unlink(missing_ok=True)
                theirs.touch()
            mount(str(ours.resolve()), str(theirs), "", _BIND)

"""``python -P -m dcnlab.lab.emulation.images.unpacking FOLDER LAYER...``: unpack layers into a folder.

The process makes the folder its root before it reads any layer.  So no link and no name in a layer reaches
anything outside.  Names with ``..`` are errors all the same.  Device nodes and set-user-ID bits are left
out.  Whiteouts are those of the OCI Image Format Specification ("Whiteouts").
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import stat
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

#: What tarfile imports when it needs it: there is nothing to import in the new root.
_NEEDED = ("bz2", "gzip", "lzma", "grp", "pwd")
_REMOVED, _EMPTIED = ".wh.", ".wh..wh..opq"
_SET_ID = stat.S_ISUID | stat.S_ISGID


class LayerError(Exception):
    """A layer that cannot be unpacked; one line."""


def main() -> None:
    """Unpack; an error is one line on standard error, and exit code 1."""
    folder, *layers = sys.argv[1:]
    try:
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(Path(layer).open("rb")) for layer in layers]
            for module in _NEEDED:
                importlib.import_module(module)
            os.chroot(folder)
            os.chdir("/")
            os.umask(0)
            for name, file in zip(layers, files, strict=True):
                try:
                    unpack(file)
                except (LayerError, tarfile.TarError, OSError, EOFError, ValueError) as error:
                    raise LayerError(f"{PurePosixPath(name).name[:12]}: {error}") from error
    except (LayerError, OSError) as error:
        sys.exit(str(error))


def unpack(file: IO[bytes]) -> None:
    """Unpack one layer into the root of this process."""
    made: set[str] = set()
    with tarfile.open(fileobj=file, mode="r:*") as archive:
        archive.extraction_filter = lambda member, _: member  # newer Pythons ask for one; ours is below
        for member in archive:
            name = _clean(member.name)
            if member.islnk():
                member.linkname = _clean(member.linkname)
            member.name = name
            folder, _, last = name.rpartition("/")
            if last == _EMPTIED:
                _empty(folder, made)
            elif last.startswith(_REMOVED):
                _remove(f"/{folder}/{_clean(last.removeprefix(_REMOVED))}")
            elif name and not member.isdev():
                _make_room(name, member)
                member.mode &= ~_SET_ID
                archive.extract(member, "/", numeric_owner=True)
                made |= {str(part) for part in (PurePosixPath(name), *PurePosixPath(name).parents)}


def _clean(name: str) -> str:
    """A name relative to the root; LayerError for one that leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise LayerError(f"the name {name!r} leads out of the image")
    return "/".join(parts)


def _make_room(name: str, member: tarfile.TarInfo) -> None:
    """Remove what an upper layer replaces; a folder stays below a folder."""
    path = f"/{name}"
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if not (member.isdir() and stat.S_ISDIR(os.lstat(path).st_mode)):
            _remove(path)


def _empty(folder: str, made: set[str]) -> None:
    """Remove what lower layers have in a folder."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.listdir(f"/{folder}"):
            if f"{folder}/{entry}".lstrip("/") not in made:
                _remove(f"/{folder}/{entry}")


def _remove(path: str) -> None:
    if not path.strip("/"):
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)


if __name__ == "__main__":
    main()

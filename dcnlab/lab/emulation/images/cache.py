"""Unpacked images of this user, by digest: each image is unpacked once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from dcnlab.lab.emulation.images import layout
from dcnlab.lab.errors import LabError

_UNPACKING = "dcnlab.lab.emulation.images.unpacking"


def folder() -> Path:
    """Where images are unpacked: apart for root, whose files keep their owners."""
    return home() / ("root" if may_change_owners() else "user")


def home() -> Path:
    """The folder of this user's images."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "dcnlab" / "images"


def may_change_owners() -> bool:
    """Whether this process can give files to any user; in an ordinary user's lab it cannot."""
    mapped = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return sum(int(size) for _, _, size in mapped) > 1


def unpacked(image: layout.ImageFiles) -> Path:
    """The folder with an image's files; LabError where it cannot be unpacked."""
    base = folder()
    target = base / image.digest.replace(":", "-")
    try:
        base.mkdir(parents=True, exist_ok=True)
        base.chmod(0o700)
        with (base / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                _unpack(image, target)
    except OSError as error:
        raise LabError(f"image: cannot unpack into {base}: {error.strerror or error}") from error
    return target


def _unpack(image: layout.ImageFiles, target: Path) -> None:
    for layer in image.layers:
        layout.check_digest(layer)
    new = target.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o755)
    command = [sys.executable, "-P", "-m", _UNPACKING, str(new), *map(str, image.layers)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(new, ignore_errors=True)
        reason = (done.stderr.strip().splitlines() or ["the process that unpacks has ended"])[-1]
        raise LabError(f"image: a layer cannot be unpacked: {reason}")
    new.rename(target)

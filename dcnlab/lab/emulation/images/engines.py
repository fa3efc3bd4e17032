"""Images of a container engine that this machine has: written into an OCI layout, once for each image.

This runs in the user's process: inside a lab's sandbox an engine would take itself for newly booted.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from dcnlab.lab.emulation.images import cache
from dcnlab.lab.emulation.machine import programs
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.options.images import Image
from dcnlab.lab.program import Program

_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.ASCII)
#: How each engine writes an image into a file or a folder.
_SAVE = {
    "podman": ("--quiet", "--format", "oci-dir", "--output"),
    "docker": ("--output",),
}

#: So many layouts stay however old they are.
_KEPT = 8
#: Seconds that each stays after its last use.
_DAY = 86400.0


def exported(image: Image) -> Image:
    """Export an engine's image to a layout; others stay.  Raises UsageError without the engine or the image."""
    if not image.engine:
        return image
    if programs.find(image.engine) is None:
        raise UsageError(
            f"image: {image}: {image.engine} is not installed: install it, or give a folder or oci:DIR"
        )
    base = cache.home() / "engines"
    target = base / _identity(image)
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (base / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                _save(image, target)
            os.utime(target)  # its last use
            remove_old(base)
    except OSError as error:
        raise LabError(f"image: cannot write {image} into {base}: {error.strerror or error}") from error
    return Image(str(target), layout=True)


def remove_old(base: Path) -> None:
    """Remove all but the images used last.  Those of the last day stay: a lab that runs may read them."""
    used = {one: one.stat().st_mtime for one in base.iterdir() if one.is_dir()}
    for one in sorted(used, key=used.__getitem__, reverse=True)[_KEPT:]:
        if used[one] < time.time() - _DAY:
            shutil.rmtree(one, ignore_errors=True)


def of_option(text: str, parsed: tuple[tuple[str, Image], ...]) -> str:
    """The option ``--image``, in which every image of an engine is replaced by its layout."""
    if not any(image.engine for _, image in parsed):
        return text
    return ",".join(f"{pattern}={exported(image)}" for pattern, image in parsed)


def of_program(program: Program) -> Program:
    """Return the program; where its image was an engine's, the image is now a layout."""
    if not program.image:
        return program
    return dataclasses.replace(program, image=str(exported(Image.parse(program.image))))


def _identity(image: Image) -> str:
    """The digest by which the engine knows the image."""
    done = _run([image.engine, "image", "inspect", "--format", "{{.Id}}", image.folder])
    match = _ID.fullmatch(done.stdout.strip())
    if done.returncode or match is None:
        said = (done.stderr.strip().splitlines() or ["no digest"])[-1].removeprefix("Error: ")
        raise UsageError(
            f"image: {image}: {image.engine} does not have it ({said}):"
            f" `{image.engine} pull {image.folder}` first"
        )
    return match[1]


def _save(image: Image, target: Path) -> None:
    new = target.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    place = new / "archive" if image.engine == "docker" else new
    done = _run([image.engine, "image", "save", *_SAVE[image.engine], str(place), image.folder])
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise LabError(f"image: {image.engine} cannot save {image.folder}: {said}")
    if image.engine == "docker":
        unpack(place, new)
    new.rename(target)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack and remove what Docker has saved: since Docker 25 an OCI layout.  UsageError for older ones."""
    import tarfile

    with tarfile.open(archive) as file:
        # Python before 3.11.4 has no filters; there the archive is trusted as the engine is.
        file.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        file.extractall(folder)
    archive.unlink()
    if not (folder / "index.json").is_file():
        raise UsageError("image: this Docker saves no OCI layout: it needs to be Docker 25 or later")


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

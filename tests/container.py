"""Labs in an image of the Containerfile: ``python -m tests.container [RELEASE]`` (``make container``).

Builds a wheel of this clone, a base image of a Debian release by mmdebstrap, and the image; no registry of
containers is asked.  Then runs `doctor`, `up`, `run` and `view` in it with the privileges of docs/container.md,
and `up` without each of them.  Root does it once more as an ordinary user, in a user namespace.
Everything is removed at the end.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import ordinary
from tests.containers import PRIVILEGES, Engine

ROOT = Path(__file__).parents[1]
IMAGE = "localhost/dcnlab"
_BASE = "localhost/debian"
UP = ("up", "bcube:2,1", "--scheme", "brp", "--test", "pingall", "--json")
#: A lab in the background, and the page of `view`, which the container serves until it is stopped.
_VIEW = "dcnlab up bcube:2,1 --scheme brp -d --name lab && exec dcnlab view lab"


def main(release: str) -> None:
    """Build the image and check it; AssertionError or CalledProcessError with what went wrong."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-container-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        engine = storage(folder)
        try:
            build(engine, folder, release)
            check(engine)
            if os.geteuid() == 0:
                archive = folder / "image.tar"
                _must(engine, "save", "--quiet", "--format", "oci-archive", "--output", str(archive), IMAGE)
                print("as an ordinary user", flush=True)
                words = [
                    "env",
                    "TMPDIR=/mnt",
                    sys.executable,
                    "-m",
                    "tests.container",
                    "--archive",
                    str(archive),
                ]
                subprocess.run(ordinary.command(folder, words), check=True, cwd=ROOT)
        finally:
            engine.podman("system", "reset", "--force")  # its files may be other users'


def check_archive(archive: str) -> None:
    """Check the image of an archive, as this user."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as name:
        engine = storage(Path(name))
        try:
            _must(engine, "load", "--quiet", "--input", archive)
            check(engine)
        finally:
            engine.podman("system", "reset", "--force")


def storage(folder: Path) -> Engine:
    """Podman with images and containers in this folder, whose name must be short."""
    places = ("--root", f"{folder}/storage", "--runroot", f"{folder}/run")
    return Engine((*places, "--storage-driver", "overlay"), (IMAGE,))


def build(engine: Engine, folder: Path, release: str) -> None:
    """The image, from this clone."""
    context = folder / "context"
    (context / "dist").mkdir(parents=True)
    shutil.copy(ROOT / "constraints.txt", context)
    print("build a wheel", flush=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(context / "dist")]
    subprocess.run([*pip, str(ROOT)], check=True)
    print(f"make a base image of {release}", flush=True)
    base = folder / "base.tar"
    mirror = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
    words = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates"]
    subprocess.run([*words, release, str(base), mirror], check=True)
    _must(engine, "import", "--quiet", str(base), f"{_BASE}:{release}")
    print("build the image", flush=True)
    words = ["build", "--quiet", "--isolation", "chroot", "--build-arg", f"BASE={_BASE}:{release}"]
    if certificates := os.environ.get("PIP_CERT"):  # seen only while it is built
        (folder / "pip.conf").write_text("[global]\ncert = /etc/pip.pem\n")
        words += [f"--volume={certificates}:/etc/pip.pem:ro", f"--volume={folder}/pip.conf:/etc/pip.conf:ro"]
    file = str(ROOT / "container" / "Containerfile")
    _must(engine, *words, "--file", file, "--tag", IMAGE, str(context))


def check(engine: Engine) -> None:
    """What docs/container.md says of the image."""
    print(*engine.way(), flush=True)
    done = engine.run([])  # doctor
    assert done.returncode == 0, done.stdout + done.stderr
    print("doctor: nothing is missing", flush=True)
    done = engine.run(UP)
    assert done.returncode == 0, done.stderr
    print(f"up: {json.loads(done.stdout)['received']} of 12 pings answered", flush=True)
    done = engine.run(["run", "bcube-cut", "--json"])
    assert done.returncode == 0, done.stdout + done.stderr
    print("run bcube-cut: all expectations hold", flush=True)
    check_view(engine)
    for withheld in PRIVILEGES:
        done = engine.run(UP, without=withheld)
        said = "runs" if done.returncode == 0 else done.stderr.strip()
        assert "\n" not in said, said
        print(f"without {withheld}: {said}", flush=True)


def check_view(engine: Engine) -> None:
    """The page of a lab is served at the container's loopback address."""
    start = ("run", "--detach", *engine.fitting(), "--cap-drop=ALL", *PRIVILEGES.values(), "--entrypoint=sh")
    container = _must(engine, *start, *engine.source, "-c", _VIEW)
    try:
        until = time.monotonic() + 300
        while not (address := re.search(r"http://127\S+", engine.podman("logs", container).stdout)):
            assert time.monotonic() < until, engine.podman("logs", container)
            time.sleep(0.2)
        page = _must(engine, "exec", container, "curl", "--silent", "--fail", address[0])
    finally:
        engine.podman("rm", "--force", "--time", "0", container)
    assert "<title>" in page, page
    print("view: the page is served", flush=True)


def _must(engine: Engine, *words: str) -> str:
    done = engine.podman(*words)
    assert done.returncode == 0, f"podman {words[0]}: {done.stderr}"
    return done.stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--archive"]:
        check_archive(sys.argv[2])
    else:
        main(*(sys.argv[1:] or ["trixie"]))

"""Programs as an ordinary user, who has user namespaces and /dev/net/tun: what root's tests start so.

``python -m tests.ordinary PROGRAM ARGUMENT...``, by root, runs a program as the user `student`, whose folders
vanish with it.  Nothing on the machine changes: it runs in mounts of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOBODY, STUDENT = 65_534, 4242
#: Variables of root's tests: no skips there, and reports that another user cannot write.
_ROOTS_OWN = {"DCNLAB_REQUIRE_LABS", "PYTEST_ADDOPTS"}


def _closed_ancestor(path: Path) -> Path | None:
    """The topmost folder above ``path`` that others may not pass."""
    return next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)


def script(folder: Path, user: int = NOBODY) -> str:
    """A mount namespace with an accessible tun device, and Python where other users can read it."""
    lines = [
        f"test -e {folder}/tun || mknod {folder}/tun c 10 200",
        f"chmod 666 {folder}/tun",
        f"mount --bind {folder}/tun /dev/net/tun",
        f"install -d -o {user} -g {user} -m 700 {folder}/run",
    ]
    if user == STUDENT:  # with a name, as a real user
        entries = {"passwd": f"{user}:{user}::{folder}/run:/bin/bash", "group": f"{user}:"}
        for file, entry in entries.items():
            lines.append(f"(cat /etc/{file}; echo student:x:{entry}) >{folder}/{file}")
            lines.append(f"mount --bind {folder}/{file} /etc/{file}")
        for file in ("subuid", "subgid"):  # for containers of podman
            lines.append(f"echo student:100000:65536 >{folder}/{file}")
            lines.append(f"test ! -e /etc/{file} || mount --bind {folder}/{file} /etc/{file}")
        # ssh refuses files there that are neither root's nor its user's.
        lines += [f"install -d {folder}/ssh && echo 'Host elsewhere' >{folder}/ssh/20-elsewhere.conf"]
        lines += [f"test ! -d /etc/ssh/ssh_config.d || mount --bind {folder}/ssh /etc/ssh/ssh_config.d"]
        lines += [f"install -d -o {user} {folder}/build && mkdir -p {ROOT}/build"]
        lines += [f"mount --bind {folder}/build {ROOT}/build"]  # documents write there
        lines += [f"mount --bind {folder}/run /mnt"]  # names of sockets are short
    base = Path(sys.base_prefix)
    closed = _closed_ancestor(base)
    if closed is not None:
        inner = folder / "open" / base.relative_to(closed)
        lines.append(f"mkdir -p {inner} && mount --bind {base} {inner} && mount --rbind {folder}/open {closed}")
    become = f"setpriv --reuid={user} --regid={user} --clear-groups"
    lines.append(f'exec env XDG_RUNTIME_DIR={folder}/run HOME={folder}/run {become} "$@"')
    return "\n".join(["set -e", *lines])


def command(folder: Path, words: Sequence[str]) -> list[str]:
    """How root runs a program as `student`, whose folders are below ``folder``."""
    return ["unshare", "-m", "bash", "-c", script(folder, STUDENT), "bash", *words]


def run(words: Sequence[str], *, captured: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program as `student`; its output as text if ``captured``."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        variables = {key: value for key, value in os.environ.items() if key not in _ROOTS_OWN}
        variables |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/mnt"}
        # git otherwise refuses the clone, which is another user's
        variables |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        return subprocess.run(
            command(folder, words), env=variables, capture_output=captured, text=True, check=False
        )


if __name__ == "__main__":
    if os.geteuid():
        sys.exit("tests.ordinary: you are an ordinary user already; root runs this")
    sys.exit(run(sys.argv[1:]).returncode)

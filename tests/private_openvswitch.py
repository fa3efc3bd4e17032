"""Stock Mininet beside nobody: an Open vSwitch of its own in new namespaces, which the kernel ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.capabilities import lacking

ROOT = Path(__file__).resolve().parents[1]
#: Stock Mininet's program: of PyPI's package, and Debian's.
PROGRAMS = {"venv": str(Path(sys.executable).parent / "mn"), "debian": "/usr/bin/mn"}

_SCRIPT = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/openvswitch /run/tmp
# Mininet's cleanup removes /tmp/*.log: it gets a /tmp with the folders of the machine's, without its files.
mount --rbind /tmp /run/tmp
mount -t tmpfs -o mode=1777 tmpfs /tmp
for folder in /run/tmp/*/; do
    own=/tmp/${folder#/run/tmp/}
    mkdir "$own"
    mount --rbind "$folder" "$own" 2>/dev/null || true  # others' folders may be gone by now
done
ovsdb-tool create /run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /run/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock --detach --pidfile
ovs-vsctl --no-wait init
ovs-vswitchd --detach --pidfile
ip link set lo up
"$@"
ip -brief link
ovs-vsctl list-br
"""


def program(name: str) -> str:
    """The path of one of :data:`PROGRAMS`; the test is left if it is not installed."""
    path = PROGRAMS[name]
    if not Path(path).exists() and not os.environ.get("DCNLAB_REQUIRE_LABS"):
        lacking(f"{path} is not installed")
    return path


def run(
    *words: str, text: str = "", folder: Path = ROOT, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command beside a private Open vSwitch; afterwards its output names interfaces and bridges."""
    unshare = ["unshare", "-mnpf", "--mount-proc", "--kill-child"]
    if os.geteuid():
        unshare.insert(1, "-Ur")
    return subprocess.run(
        [*unshare, "bash", "-c", _SCRIPT, "bash", *words],
        input=text, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip

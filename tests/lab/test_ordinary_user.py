"""An ordinary user runs a lab with user namespaces and access to /dev/net/tun only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab import oci
from tests.lab.controllers import TESTCONTROLLER, learning_switch

pytestmark = pytest.mark.lab

NOBODY = 65534
#: Kills a process of each kind, and checks what must hold when all of them run again.
DEATHS = """
import json
from dcnlab import Lab
with Lab("bcube:2,1", "brp", datapath="userspace") as lab:
    for what in ("ovsdb", "s1", "h1", "controller"):
        lab.kill(what)
    violations = lab.invariants(within=120).violations
    print(json.dumps({"restarts": lab.info()["restarts"], "violations": violations}))
"""


def closed_ancestor(path: Path) -> Path | None:
    """The topmost folder above ``path`` that others may not pass."""
    return next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)


def script(folder: Path) -> str:
    """A mount namespace with an accessible tun device, and Python where other users can read it."""
    lines = [
        f"test -e {folder}/tun || mknod {folder}/tun c 10 200",
        f"chmod 666 {folder}/tun",
        f"mount --bind {folder}/tun /dev/net/tun",
        f"install -d -o {NOBODY} -g {NOBODY} -m 700 {folder}/run",
    ]
    base = Path(sys.base_prefix)
    closed = closed_ancestor(base)
    if closed is not None:
        inner = folder / "open" / base.relative_to(closed)
        lines.append(f"mkdir -p {inner} && mount --bind {base} {inner} && mount --rbind {folder}/open {closed}")
    user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
    lines.append(f'exec env XDG_RUNTIME_DIR={folder}/run HOME={folder}/run {user} "$@"')
    return "\n".join(["set -e", *lines])


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
@pytest.mark.parametrize(
    ("topology", "scheme"), [("bcube:2,1", "brp"), ("smallworld:4x4,clusters=2x2", "hrsw"), ("clot:4x4", "pow")]
)
def test_all_pairs_ping(open_path: Path, topology: str, scheme: str) -> None:
    words = [
        sys.executable,
        "-m",
        "dcnlab.cli",
        "up",
        topology,
        "--scheme",
        scheme,
        "--test",
        "pingall",
        "--json",
    ]
    found = run(open_path, words)
    assert found["received"] == found["sent"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
@pytest.mark.skipif(
    shutil.which(TESTCONTROLLER) is None and not os.environ.get("DCNLAB_REQUIRE_LABS"),
    reason="not installed: openvswitch-testcontroller",
)
def test_switches_reach_a_controller_outside(open_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "dcnlab.cli",
        "up",
        "jellyfish:4,8,3",
        "--no-loops",
        "--test",
        "pingall",
        "--json",
    ]
    with learning_switch() as port:
        found = run(open_path, [*words, "--controller", f"remote:127.0.0.1:{port}"])
    assert found["received"] == found["sent"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_services_run_from_images(open_path: Path) -> None:
    files = {**oci.busybox("httpd"), "index.html": b"from the image"}
    oci.write(open_path / "layout", {"v1": [oci.layer(files), oci.layer({"tmp": None})]}, Env=["PATH=/bin"])
    (open_path / "web.yaml").write_text(
        """
        topology: bcube:2,1
        scheme: brp
        services:
          - {name: web, on: h3, run: httpd -f -p 80, ready: "tcp:80", image: "oci:layout:v1"}
          - {name: get, on: h0, run: curl -s http://h3/, at: 0s, ready: "exit:0"}
        expect: [web.running == 1, get.exit == 0]
        """
    )
    assert run(open_path, [sys.executable, "-m", "dcnlab.cli", "run", str(open_path / "web.yaml"), "--json"])


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_links_have_delay_and_loss(open_path: Path) -> None:
    words = [
        "up",
        "bcube:2,1",
        "--scheme",
        "brp",
        "--delay",
        "5ms",
        "--loss",
        "0.01%",
        "--test",
        "pingall",
        "--json",
    ]
    found = run(open_path, [sys.executable, "-m", "dcnlab.cli", *words], codes=(0, 1))
    assert found["received"] > 0
    assert found["rtt_ms"]["p50"] >= 20  # two links there and two back, at least


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_the_demonstration_runs(open_path: Path) -> None:
    """`make demo` after the installation."""
    found = run(open_path, [sys.executable, "-m", "dcnlab.cli", "demo", "--topology", "bcube:2,1", "--json"])
    assert found["info"]["links"] == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_what_dies_comes_back(open_path: Path) -> None:
    found = run(open_path, [sys.executable, "-c", DEATHS])
    assert {name.partition(" ")[0] for name in found["restarts"]} == {
        "ovsdb-server", "ovs-vswitchd", "agent", "controller",
    }  # fmt: skip
    assert found["violations"] == 0


def run(folder: Path, words: list[str], codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """The JSON that a command of an ordinary user prints."""
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script(folder), "bash", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in codes, done.stderr
    return dict(json.loads(done.stdout))

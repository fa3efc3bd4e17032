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

from tests import ordinary
from tests.lab import oci
from tests.lab.controllers import TESTCONTROLLER, learning_switch
from tests.ordinary import script

pytestmark = pytest.mark.lab

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
    answer = run(open_path, words)
    assert answer["received"] == answer["sent"] > 0


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
        answer = run(open_path, [*words, "--controller", f"remote:127.0.0.1:{port}"])
    assert answer["received"] == answer["sent"] > 0


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
    answer = run(open_path, [sys.executable, "-m", "dcnlab.cli", *words], codes=(0, 1))
    assert answer["received"] > 0
    assert answer["rtt_ms"]["p50"] >= 20  # two links there and two back, at least


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_the_demonstration_runs(open_path: Path) -> None:
    """`make demo` after the installation."""
    answer = run(open_path, [sys.executable, "-m", "dcnlab.cli", "demo", "--topology", "bcube:2,1", "--json"])
    assert answer["info"]["links"] == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_what_dies_comes_back(open_path: Path) -> None:
    answer = run(open_path, [sys.executable, "-c", DEATHS])
    assert {name.partition(" ")[0] for name in answer["restarts"]} == {
        "ovsdb-server", "ovs-vswitchd", "agent", "controller",
    }  # fmt: skip
    assert answer["violations"] == 0


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


#: Where an ordinary user's rights decide most: real programs in hosts, ssh's daemon among them, windows,
#: namespaces, limits.
ALSO_BY_A_USER = [
    "tests/lab/programs/test_programs.py",
    "tests/lab/programs/test_display.py",
    "tests/lab/programs/test_ssh_option.py",
    "tests/lab/emulation/test_namespaces.py",
    "tests/lab/programs/test_services.py::test_folders_of_a_hosts_own",
    "tests/lab/launch/test_launch_errors.py::test_a_missing_tun_device_is_one_line",
    "-k=not large_file",
]


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other lab tests already")
def test_labs_pass_as_an_ordinary_user() -> None:
    """`make test-ordinary` runs all of them."""
    done = ordinary.run(
        [sys.executable, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", *ALSO_BY_A_USER], captured=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED tests/lab/programs/test_programs.py::test_ssh" in done.stdout  # labs were not skipped

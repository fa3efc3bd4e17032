"""`dcnlab doctor` finds the same as any user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.lab
def test_an_ordinary_users_path_suffices() -> None:
    """Debian's has no /usr/sbin, where tc, tcpdump and Open vSwitch's daemons are."""

    def states(path: str) -> dict[str, str]:
        words = [sys.executable, "-m", "dcnlab.cli", "doctor", "--json"]
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        return {finding["what"]: finding["state"] for finding in json.loads(done.stdout)}

    everywhere = states("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    assert everywhere["htb"] == "ok"
    assert states("/usr/local/bin:/usr/bin:/bin") == everywhere


def hiding(hidden: str, folder: Path, *words: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """The program where these programs are missing and ``folder`` comes first on the path.

    In mounts of its own: nothing on this machine changes.
    """
    masks = "".join(f"mount --bind /dev/null $(readlink -f $(command -v {name}))\n" for name in hidden.split())
    unmasked = "" if os.geteuid() == 0 else "--map-root-user"
    command = ["unshare", "--mount", *unmasked.split(), "bash", "-ec", masks + 'exec "$@"', "bash"]
    path = f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.run(
        [*command, sys.executable, "-m", "dcnlab.cli", "doctor", *words],
        input=answer, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def stand_in(folder: Path, manager: str) -> Path:
    """A package manager that writes down what it is asked: the real one would change this machine."""
    asked = folder / "asked"
    program = folder / manager
    program.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    program.chmod(0o755)
    return asked


@pytest.mark.lab
def test_install_runs_apt_with_what_is_missing(tmp_path: Path) -> None:
    asked = stand_in(tmp_path, "apt-get")
    printed = hiding("traceroute ethtool", tmp_path, "--install", "--json")
    line = "apt-get install -y --no-install-recommends ethtool traceroute"
    assert printed.stderr == f"to install what is missing: {line}\n"
    assert not asked.exists(), "without a terminal it asks nobody and installs nothing"
    assert "missing: ethtool, traceroute" in printed.stdout
    assert printed.returncode == 1
    hiding("traceroute ethtool", tmp_path, "--install", "--yes")
    assert asked.read_text().splitlines() == ["update", line.partition(" ")[2]]
    assert hiding("", tmp_path, "--install", "--yes").stderr == "no package is missing\n"


@pytest.mark.lab
def test_install_prints_the_command_of_other_package_managers(tmp_path: Path) -> None:
    asked = stand_in(tmp_path, "dnf")
    done = hiding("apt-get ping ip mnexec", tmp_path, "--install", "--yes")
    note, line = done.stderr.splitlines()
    assert note.startswith("mnexec is a C file of Mininet's source")
    assert line == "to install what is missing: dnf install -y iproute iproute-tc iputils"
    assert not asked.exists()


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="as root without a capability")
@pytest.mark.parametrize(
    ("lacking", "refused"),
    [
        ("sys_admin", "refused to root here"),
        ("net_admin", "network interfaces are refused to root here"),
        ("net_raw", "packet sockets are refused to root here"),
    ],
)
def test_root_of_a_container_learns_what_it_lacks(lacking: str, refused: str) -> None:
    words = ["setpriv", "--bounding-set", f"-{lacking}", sys.executable, "-m", "dcnlab.cli"]
    done = subprocess.run([*words, "doctor", "--json"], capture_output=True, text=True, check=False)
    namespaces = {finding["what"]: finding for finding in json.loads(done.stdout)}["namespaces"]
    assert (namespaces["state"], namespaces["found"]) == ("missing", refused)
    up = [*words, "up", "bcube:2,1", "--scheme", "brp", "--test", "pingall"]
    launch = subprocess.run(up, capture_output=True, text=True, check=False)
    for text in (namespaces["means"], launch.stderr):
        assert "give the container the capabilities SYS_ADMIN, NET_ADMIN and NET_RAW" in text
    assert (launch.returncode, launch.stderr.count("\n")) == (2, 1)

"""Where ordinary users may not create namespaces, or mount in them: one line that says what allows it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.emulation.sandbox import remedy
from tests.ordinary import script

UBUNTU = "kernel.apparmor_restrict_unprivileged_userns"


@pytest.mark.parametrize(
    ("name", "value", "opens"),
    [
        (UBUNTU, "1", f"sysctl -w {UBUNTU}=0"),
        ("kernel.unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
    ],
)
def test_the_remedy_names_the_setting_that_forbids_them(
    tmp_path: Path, name: str, value: str, opens: str
) -> None:
    for other in (UBUNTU, "kernel.unprivileged_userns_clone", "user.max_user_namespaces"):
        setting = tmp_path / other.replace(".", "/")
        setting.parent.mkdir(exist_ok=True)
        setting.write_text("0\n" if other == UBUNTU else "1\n")
    assert remedy(tmp_path, root=False) == "run with sudo"
    assert "CAP" in remedy(tmp_path, root=True).upper()
    (tmp_path / name.replace(".", "/")).write_text(f"{value}\n")
    assert remedy(tmp_path) == f"run with sudo, or allow it: sudo {opens}"


@pytest.fixture
def closed() -> Iterator[str]:
    """Path of a user namespace in which no more can be made; users are the same as outside."""
    with subprocess.Popen(["unshare", "--user", "cat"], stdin=subprocess.PIPE) as holder:
        path = Path(f"/proc/{holder.pid}/ns/user")
        while path.readlink() == Path("/proc/self/ns/user").readlink():
            time.sleep(0.01)
        for kind in ("uid", "gid"):
            Path(f"/proc/{holder.pid}/{kind}_map").write_text("0 0 65535")
        settings = "echo 0 >/proc/sys/user/max_user_namespaces"
        subprocess.run(["nsenter", f"--user={path}", "bash", "-c", settings], check=True)
        yield str(path)
        holder.communicate()


def dcnlab(namespace: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as an ordinary user of a user namespace."""
    inner = script(folder).replace("setpriv", f"nsenter --user={namespace} setpriv")
    command = ["unshare", "-m", "bash", "-c", inner, "bash", sys.executable, "-m", "dcnlab.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close them for somebody")
def test_the_error_of_a_launch_is_one_line(closed: str, open_path: Path) -> None:
    done = dcnlab(closed, open_path, "up", "bcube:2,1", "--scheme", "brp", "--test", "pingall")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "dcnlab: cannot create the lab's namespaces (No space left on device): "
        "run with sudo, or allow it: sudo sysctl -w user.max_user_namespaces=10000"
    ]


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close them for somebody")
def test_root_gets_labs_but_not_isolated_ones(closed: str) -> None:
    """Root of the user namespace, for whom a lab needs none of its own."""
    enter = [
        "nsenter",
        f"--user={closed}",
        sys.executable,
        "-m",
        "dcnlab.cli",
        "up",
        "torus:2",
        "--scheme",
        "pow",
    ]
    plain, isolated = (
        subprocess.run([*enter, "--test", "pingall", *options], capture_output=True, text=True, check=False)
        for options in ((), ("--isolate",))
    )
    assert plain.returncode == 0, plain.stderr
    assert isolated.returncode == 1
    assert re.fullmatch(r"dcnlab: .*user namespaces.*\n", isolated.stderr)


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close them for somebody")
def test_doctor_reports_it(closed: str, open_path: Path) -> None:
    done = dcnlab(closed, open_path, "doctor", "--json")
    assert done.returncode == 1
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)}
    assert findings["namespaces"]["state"] == "missing"
    assert findings["namespaces"]["means"].endswith("sysctl -w user.max_user_namespaces=10000")


def covered(folder: Path, mounted: str) -> list[str]:
    """What comes before a command of an ordinary user: parts of /proc or /sys are covered, as in containers.

    The kernel then allows no new one, unless all of it is to be seen elsewhere.
    """
    own = f"findmnt --raw --noheadings --output TARGET --types {'proc' if mounted == '/proc' else 'sysfs'}"
    lines = [f"{own} | grep -vx {mounted} | xargs --no-run-if-empty umount --lazy"]
    lines += [f"mount -t tmpfs -o ro none {mounted}/bus"]
    return ["unshare", "-m", "bash", "-c", "\n".join([*lines, script(folder)]), "bash"]


def run_all(before: list[str], *commands: str) -> list[subprocess.CompletedProcess[str]]:
    """Run dcnlab's commands, each after ``before``."""
    words = [[*before, sys.executable, "-m", "dcnlab.cli", *command.split()] for command in commands]
    return [subprocess.run(each, capture_output=True, text=True, check=False) for each in words]


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover them for somebody")
def test_a_lab_runs_without_a_sys_of_its_own(open_path: Path) -> None:
    """As docs/security.md says, also with isolated hosts: the machine's stays."""
    (doctor, up) = run_all(
        covered(open_path, "/sys"), "doctor --json", "up bcube:2,1 --scheme brp --isolate --test pingall --json"
    )
    findings = {finding["what"]: finding for finding in json.loads(doctor.stdout)}
    assert findings["namespaces"]["state"] == "note"
    assert "unmask=ALL" in findings["namespaces"]["means"]
    assert up.returncode == 0, up.stderr
    assert json.loads(up.stdout)["received"] == 12


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover them for somebody")
def test_without_a_proc_of_its_own_the_error_is_one_line(open_path: Path) -> None:
    (doctor, up) = run_all(
        covered(open_path, "/proc"), "doctor --json", "up bcube:2,1 --scheme brp --test pingall"
    )
    findings = {finding["what"]: finding for finding in json.loads(doctor.stdout)}
    assert findings["namespaces"]["state"] == "missing"
    remedy = findings["namespaces"]["means"]
    assert "systempaths=unconfined" in remedy
    assert up.returncode == 2
    assert re.fullmatch(rf"dcnlab: .*: parts of /proc are covered: {re.escape(remedy)}\n", up.stderr)

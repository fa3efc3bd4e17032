"""What vagrant/ holds: valid for the programs that read it; and what make vm-full may write down."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
VAGRANT = ROOT / "vagrant"
SCRIPTS = sorted(VAGRANT.rglob("*.sh"), key=str)


def run(tmp_path: Path, *words: str) -> str:
    """What a program prints; the test is skipped where the machine does not have it."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"not installed: {words[0]}")
    settings = {"VAGRANT_HOME": tmp_path / "home", "VAGRANT_DOTFILE_PATH": tmp_path / "machine"}
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    environment.update({name: str(path) for name, path in settings.items()})
    done = subprocess.run(words, cwd=VAGRANT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(VAGRANT)))
def test_scripts_parse(tmp_path: Path, script: Path) -> None:
    run(tmp_path, "bash", "-n", str(script))


def test_vagrant_takes_the_vagrantfile(tmp_path: Path) -> None:
    assert "validated" in run(tmp_path, "vagrant", "validate", "--ignore-provider")


def test_cloud_init_takes_user_data(tmp_path: Path) -> None:
    assert "Valid" in run(tmp_path, "cloud-init", "schema", "--config-file", "user-data")


def record() -> ModuleType:
    """vagrant/full/record.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("record", VAGRANT / "full" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seen(folder: Path, **changed: dict[str, Any]) -> None:
    """A folder as a run that held leaves it, but for what is changed."""
    lab = {"datapath": "kernel", "sent": 12, "received": 12, "rtt_ms": {"p50": 41.0}}
    doctor = [{"what": what, "state": "ok", "found": "x"} for what in ("datapath", "netem", "namespaces")]
    for name in ("pingall", "root", "delay", "iperf"):
        (folder / name).write_text(json.dumps({**lab, **changed.get(name, {})}))
    (folder / "doctor").write_text(json.dumps([{**f, **changed.get(f["what"], {})} for f in doctor]))


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, []),
        ({"pingall": {"datapath": "userspace"}}, ["pingall: the datapath is userspace"]),
        ({"root": {"received": 11}}, ["root: 11 of 12 answered"]),
        ({"netem": {"state": "note"}}, ["doctor: netem is note"]),
        (
            {"delay": {"rtt_ms": {"p50": 0.4}}},
            ["delay: 10 ms per link, and round trips are shorter than 40 ms"],
        ),
    ],
    ids=["held", "userspace", "lost", "no netem", "no delay"],
)
def test_only_a_run_that_held_is_written_down(
    tmp_path: Path, changed: dict[str, dict[str, Any]], wrong: list[str]
) -> None:
    seen(tmp_path, **changed)
    assert record().failures(tmp_path) == wrong

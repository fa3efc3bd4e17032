"""Faucet, from PyPI in an environment of its own, steers a fat tree by its stacking."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dcnlab.lab.client import Lab
from tests.capabilities import lacking
from tests.lab.controllers import free_port, running
from tests.ovs import poll
from topos import registry
from topos.fabric import Fabric

pytestmark = pytest.mark.lab

VERSION = "1.10.12"


@pytest.fixture(scope="module")
def manager() -> Path:
    """The program that runs faucet, installed once per machine and version of Python."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dcnlab-tests"
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"faucet-{VERSION}-python{sys.version_info.major}.{sys.version_info.minor}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            install = [str(place / "bin/python"), "-m", "pip", "install", "-q", f"faucet=={VERSION}"]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode:
                lacking(f"faucet cannot be installed: {done.stderr}")
            (place / "complete").touch()
    return place / "bin/osken-manager"


@contextlib.contextmanager
def faucet(manager: Path, folder: Path, fabric: Fabric) -> Iterator[int]:
    """Faucet for that fabric; the port where it listens."""
    YAML(typ="safe").dump(configuration(fabric), folder / "faucet.yaml")
    port = free_port()
    command = [
        "env", "FAUCET_PROMETHEUS_ADDR=127.0.0.1", f"FAUCET_PROMETHEUS_PORT={free_port()}",
        f"FAUCET_CONFIG={folder}/faucet.yaml", f"FAUCET_LOG={folder}/log",
        f"FAUCET_EXCEPTION_LOG={folder}/errors",
        str(manager), f"--ofp-tcp-listen-port={port}", "--ofp-listen-host=127.0.0.1", "faucet.faucet",
    ]  # fmt: skip
    with running(command, folder / "output", port):
        yield port


def configuration(fabric: Fabric) -> dict[str, Any]:
    """All hosts in one VLAN; links between switches belong to the stack, whose root is the last switch."""
    switches = {}
    for switch in range(fabric.servers, fabric.size):
        ports: dict[int, Any] = {}
        for port, peer in fabric.ports(switch):
            stack = {"dp": fabric.name(peer.node), "port": peer.number}
            ports[port] = {"native_vlan": "hosts"} if fabric.is_server(peer.node) else {"stack": stack}
        switches[fabric.name(switch)] = {
            "dp_id": switch - fabric.servers + 1, "hardware": "Open vSwitch", "interfaces": ports,
            "lldp_beacon": {"send_interval": 1, "max_per_interval": 100},
        }  # fmt: skip
    switches[fabric.name(fabric.size - 1)]["stack"] = {"priority": 1}
    return {"vlans": {"hosts": {"vid": 100}}, "dps": switches}


def test_faucet_steers_a_fat_tree(manager: Path, tmp_path: Path) -> None:
    fabric = registry.fabric("fattree:4")
    with (
        faucet(manager, tmp_path, fabric) as port,
        Lab("fattree:4", controller=f"remote:127.0.0.1:{port}") as lab,
    ):
        assert lab.info()["controller"]["connected"] == fabric.switches
        poll(lambda: lab.pingall(pairs="pairs", timeout=2.0).held, 240)
        assert lab.tables("s0")["installed"]
        assert lab.fail("s0", "s8")["detection_ms"] is not None
        lab.restore("s0", "s8")

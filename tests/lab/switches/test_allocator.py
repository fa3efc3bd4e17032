"""Open vSwitch's daemons use jemalloc where it is installed, after they were killed too."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.doctor import checks
from dcnlab.lab.emulation import capacity
from dcnlab.lab.emulation.switches import allocator
from tests.ovs import poll
from topos import registry

pytestmark = [pytest.mark.lab]

DAEMONS = ("ovsdb-server", "ovs-vswitchd")
#: The jemalloc that a daemon of this shard has mapped; killed or being started, it has none.
_MAPPED = "grep -ao '/.*libjemalloc.*' /proc/$(cat $OVS_RUNDIR/{}.pid)/maps | sort -u"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", datapath="userspace") as one:
        yield one


def mapped(lab: Lab, daemon: str) -> list[str]:
    return str(lab.run("s0", ["sh", "-c", _MAPPED.format(daemon)]).stdout).split()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_daemons_use_jemalloc_and_do_when_they_come_back(lab: Lab, daemon: str) -> None:
    file = allocator.library()
    assert file is not None, "the packages of tests include it"
    expected = [str(file.resolve())]
    assert mapped(lab, daemon) == expected
    before = lab.run("s0", ["sh", "-c", f"cat $OVS_RUNDIR/{daemon}.pid"]).stdout
    lab.run("s0", ["sh", "-c", f"kill -{signal.SIGKILL.value} {before}"])
    poll(lambda: lab.run("s0", ["sh", "-c", f"cat $OVS_RUNDIR/{daemon}.pid"]).stdout != before, 60)
    poll(lambda: mapped(lab, daemon) == expected, 60)


def test_a_lab_without_it_comes_up_and_doctor_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = registry.fabric("bcube:4,1")
    less = capacity.memory_needed(fabric)
    monkeypatch.setattr(allocator, "_FOLDERS", (str(tmp_path),))
    assert allocator.environment() == {}
    assert capacity.memory_needed(fabric) > less
    (finding,) = [one for one in checks.examine() if one.what == "allocator"]
    assert (finding.state, allocator.PACKAGE in finding.means) == ("note", True)
    with Lab("bcube:2,1", "brp", datapath="userspace") as one:
        assert one.pingall().held


def test_what_the_user_preloads_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/libfirst.so")
    monkeypatch.setenv("MALLOC_CONF", "narenas:4")
    variables = allocator.environment()
    assert variables["LD_PRELOAD"] == f"{allocator.library()}:/lib/libfirst.so"
    assert variables["MALLOC_CONF"] == "narenas:4"

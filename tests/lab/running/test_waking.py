"""Open vSwitch is woken while it connects to a controller, at a socket in the place of a daemon's."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.emulation.switches import shards as sharding
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.emulation.switches.waking import woken

_PATIENCE = 60.0


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Shard, ...]:
    """Two shards on two processors, the first without a daemon."""
    monkeypatch.setattr(sharding, "ROOT", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    return (Shard(0, ()), Shard(1, ()))


@pytest.fixture
def daemon(shards: tuple[Shard, ...]) -> Iterator[socket.socket]:
    rundir = shards[1].rundir
    rundir.mkdir()
    (rundir / "ovs-vswitchd.pid").write_text("4711\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(rundir / "ovs-vswitchd.4711.ctl"))
        listener.listen()
        listener.settimeout(_PATIENCE)
        yield listener


def test_connections_come_as_long_as_the_body_runs(shards: tuple[Shard, ...], daemon: socket.socket) -> None:
    with woken(shards):
        for _ in range(3):
            with daemon.accept()[0] as connection:
                assert connection.recv(1) == b""
    daemon.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:  # what came before the end
            daemon.accept()[0].close()
    with pytest.raises(BlockingIOError):
        daemon.accept()


def test_nobody_waits_for_a_daemon_that_does_not_answer(
    shards: tuple[Shard, ...], daemon: socket.socket
) -> None:
    """Its queue of connections is full: more are not waited for."""
    daemon.listen(0)
    rundir = shards[1].rundir
    with socket.socket(socket.AF_UNIX) as first, woken(shards):
        first.connect(str(rundir / "ovs-vswitchd.4711.ctl"))


def test_more_daemons_than_processors_are_left_alone(
    shards: tuple[Shard, ...], daemon: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    before = threading.active_count()
    with woken(shards):
        assert threading.active_count() == before

"""`dcnlab machines serve`: who may connect, what is refused, and a server that is killed."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, OptionError, UsageError
from dcnlab.lab.machines.transport import connect, unix_socket
from dcnlab.lab.options import scheduler_address
from tests.lab.cluster import running, served, servers, until
from tests.lab.lines import dcnlab
from tests.lab.machines import assert_lost, attached, name, nothing_left


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The socket of a server in this process."""
    socket_path = tmp_path / "machine"
    threading.Thread(target=unix_socket.serve, args=(socket_path, "127.0.0.1"), daemon=True).start()
    until(socket_path.is_socket)
    return socket_path


def test_a_machine_describes_itself_to_its_owner_only(path: Path) -> None:
    (worker,) = connect(f"unix:{path}").workers()
    assert (worker.machine.name, worker.address) == ("m0", "127.0.0.1")
    assert worker.machine.cores == len(os.sched_getaffinity(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_connections_that_end_take_nothing_from_others(path: Path) -> None:
    """The number of a descriptor that was closed is the next connection's, and answers are for who asks."""
    transport = connect(f"unix:{path}")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: transport.workers(), range(400)))
    assert {workers[0].address for workers in answers} == {"127.0.0.1"}
    until(lambda: not [thread for thread in threading.enumerate() if thread.name == "machine"])


def test_a_second_server_at_a_socket_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="another server listens"):
        unix_socket.serve(path, "127.0.0.1")
    assert connect(f"unix:{path}").workers()


def test_a_server_that_cannot_be_made_is_an_error_of_the_coordinator(path: Path) -> None:
    transport = connect(f"unix:{path}")
    (worker,) = transport.workers()
    with pytest.raises(TypeError, match="missing"):
        transport.serve(worker, "bcube:2,1")


def test_nobody_at_a_socket_is_one_line(tmp_path: Path) -> None:
    transport = connect(f"unix:{tmp_path}/none")
    with pytest.raises(LabError, match=r"no server listens at /.*/none \(No such file.*dcnlab machines serve"):
        transport.workers()


@pytest.mark.parametrize("address", ["unix:", "unix:m0,m1", "unix:/m0,/m0", "unix:/m0,"])
def test_sockets_are_different_paths_from_the_root(address: str) -> None:
    with pytest.raises(OptionError, match="a path from / on for each"):
        scheduler_address.check(address)


@pytest.mark.parametrize(
    "words", ["--socket /tmp/m0", "--host 10.0.0.1", "LAB --socket /tmp/m --host 10.0.0.1"]
)
def test_a_server_needs_a_socket_and_an_address(words: str) -> None:
    done = dcnlab("machines", "serve", *words.split())
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def _rejoins(lab: Lab) -> bool:
    with contextlib.suppress(LabError):  # its server does not listen yet
        return lab.rejoin("m1").machines == ["m1"]
    return False


@pytest.mark.lab
@pytest.mark.xdist_group("machines")
def test_a_server_that_is_killed_ends_its_part_and_rejoins(tmp_path: Path) -> None:
    with servers(2, tmp_path) as two:
        lab_name = name()
        two.launched(lab_name, "bcube:2,1", "--scheme", "brp")
        with attached(lab_name) as lab, contextlib.ExitStack() as stack:
            two.workers[1].kill()
            until(lambda: [one["lost"] for one in lab.info()["machines"]] == [False, True])
            with pytest.raises(LabError, match="no worker runs there"):
                lab.rejoin("m1")
            again = served(two.machines[1], tmp_path / "m1")
            stack.enter_context(running(again, tmp_path / "again.log"))
            until(functools.partial(_rejoins, lab))
            assert_lost(lab)
            assert lab.info()["down"] == []
        until(lambda: nothing_left(two, lab_name))

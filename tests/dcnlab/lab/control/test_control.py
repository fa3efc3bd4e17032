"""The control socket and those who share it: requests of any length, labs that end, threads that wait."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.control import rpc, runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.emulation import sandbox
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.measurement import Context
from dcnlab.lab.methods import asking
from dcnlab.lab.methods.asking import try_info
from hostagent.client import AgentPool
from hostagent.linux.channel import encode
from hostagent.options import Options
from tests.ovs import poll


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for sockets of our own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return runtime.directory()


def listen(path: Path, backlog: int = 8) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(backlog)
    return listener


@contextlib.contextmanager
def serving(path: Path, **operations: rpc.Answering) -> Iterator[None]:
    """The lab's side of the socket, in a thread."""
    stop = threading.Event()

    def answer(call: rpc.Call) -> Any:
        return operations[call.request["op"]](call)

    with listen(path) as listener:
        server = threading.Thread(target=rpc.serve, args=(listener, answer, stop))
        server.start()
        try:
            yield
        finally:
            stop.set()
            server.join()


@contextlib.contextmanager
def hanging_up(path: Path, listens: bool) -> Iterator[None]:
    """Somebody who takes connections, listens to what is asked or does not, and hangs up."""

    def work() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    if listens:
                        connection.recv(1 << 16)

    with listen(path) as listener:
        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            worker.join()


@pytest.mark.parametrize("listens", [True, False])
def test_a_lab_that_ends_while_it_is_asked_is_told_in_one_line(sockets: Path, listens: bool) -> None:
    with hanging_up(sockets / "gone.sock", listens):
        for _ in range(20):
            connection = Connection(sockets / "gone.sock")
            with contextlib.closing(connection), pytest.raises(LabError, match="ended before it answered"):
                connection.call("info")
        done = subprocess.run(
            [sys.executable, "-m", "dcnlab.cli", "ping", "gone"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines() == ["dcnlab: the lab ended before it answered"]
        assert try_info(sockets / "gone.sock") == {"silent": "ending"}


def test_requests_may_be_longer_than_a_socket_holds(sockets: Path) -> None:
    pairs = [["h0", f"h{number}"] for number in range(200_000)]
    with (
        serving(sockets / "lab.sock", count=lambda call: len(call.request["pairs"])),
        contextlib.closing(Connection(sockets / "lab.sock")) as connection,
    ):
        assert connection.call("count", pairs=pairs) == len(pairs)


@pytest.mark.parametrize("apart", [False, True])
def test_what_comes_with_a_request_is_not_waited_for(sockets: Path, apart: bool) -> None:
    """A client may say "stop" before the lab has read the request."""
    lines = b"".join(map(encode, ({"op": "serve"}, {"stop": True})))

    def serve(call: rpc.Call) -> bool:
        context = Context(call)
        context.wait(None)
        return context.stopped()

    with (
        serving(sockets / "lab.sock", serve=serve),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking,
    ):
        asking.settimeout(60)
        asking.connect(str(sockets / "lab.sock"))
        for part in (lines[:9], lines[9:]) if apart else (lines,):
            asking.sendall(part)
        assert json.loads(asking.recv(1 << 16)) == {"result": True}


@pytest.mark.parametrize("sent", [False, True], ids=["before it", "while it is sent"])
def test_a_wish_to_stop_is_sent_after_the_request(
    sockets: Path, monkeypatch: pytest.MonkeyPatch, sent: bool
) -> None:
    """The handler of a signal may have interrupted the thread that sends the request."""
    with (
        serving(sockets / "lab.sock", serve=lambda call: Context(call).wait(None)),
        contextlib.closing(Connection(sockets / "lab.sock", timeout=60)) as connection,
    ):
        send_fds = socket.send_fds

        def interrupted(*arguments: Any) -> int:
            connection.stop()
            return send_fds(*arguments)

        if sent:
            monkeypatch.setattr(socket, "send_fds", interrupted)
        else:
            connection.stop()
        assert connection.call("serve") is None


@pytest.mark.parametrize("line", [b"no request\n", b"half a requ"])
def test_descriptors_of_requests_that_are_none_are_closed(sockets: Path, line: bytes) -> None:
    near, far = os.pipe()
    with serving(sockets / "lab.sock"), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(str(sockets / "lab.sock"))
        socket.send_fds(asking, [line], [far])
        os.close(far)
        asking.shutdown(socket.SHUT_WR)
        assert os.read(near, 1) == b""  # nobody has its other end any more
    os.close(near)


def test_a_lab_that_is_being_launched_keeps_nobody_waiting(
    sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It listens from the beginning, and answers when it is ready; ever so many may wait for that."""
    path = sockets / "slow.sock"
    with listen(path, backlog=0):
        assert [runtime.in_use(path) for _ in range(3)] == [True] * 3
        assert [lab.alive for lab in runtime.labs()] == [True]
        monkeypatch.setattr(asking, "_INFO_TIMEOUT", 0.1)
        assert try_info(path) == {"silent": "busy"}  # what listens is no guard
        assert path.exists()


def test_only_sockets_that_nobody_listens_at_are_removed(sockets: Path) -> None:
    path = sockets / "stale.sock"
    assert not runtime.in_use(path)
    listen(path).close()
    assert path.exists()
    assert not runtime.in_use(path)
    assert not path.exists()


def test_a_lab_that_ends_while_others_look_at_its_socket_disturbs_nobody(sockets: Path) -> None:
    """Labs of one name come and go as guards have them do: the socket goes first, the listener then."""
    path, failed = sockets / "short.sock", list[OSError]()

    def come_and_go() -> None:
        try:
            for _ in range(1000):
                with sandbox.listen(path):
                    path.unlink()  # FileNotFoundError: somebody removed the socket of a lab that listens
        except OSError as error:
            failed.append(error)

    labs = threading.Thread(target=come_and_go)
    labs.start()
    while labs.is_alive():
        runtime.in_use(path)
        assert all(one.alive for one in runtime.labs())
    assert not failed


def test_orders_of_several_threads_arrive_whole() -> None:
    states = [range(first, first + 60_000) for first in range(20)]  # each several times what a socket holds
    with AgentPool(Options("torus:2x2", "shortest")) as pool, ThreadPoolExecutor(2) as threads:
        list(threads.map(pool.links, states))
        assert [pool.wait_links(state) for state in states] == [0] * len(states)


def test_ps_lists_a_stale_socket_once_and_removes_it(sockets: Path) -> None:
    listen(sockets / "stale.sock").close()
    shown = []
    for _ in range(2):
        words = [sys.executable, "-m", "dcnlab.cli", "ps", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        shown.append(json.loads(done.stdout))
    assert shown == [[{"name": "stale", "alive": False, "state": "stale"}], []]
    assert not (sockets / "stale.sock").exists()


def test_a_lab_without_free_descriptors_answers_when_it_has_some(
    sockets: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, (soft, hard) = sockets / "short.sock", resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving(path, op=lambda _: "answer"), socket.socket(socket.AF_UNIX) as asking:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            asking.connect(str(path))
            poll(lambda: "a request was not accepted" in caplog.text, 60)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        asking.close()
        assert Connection(path, timeout=60).call("op") == "answer"

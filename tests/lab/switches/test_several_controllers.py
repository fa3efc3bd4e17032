"""Switches that have several controllers: each with its role, and the lab goes on when one ends."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.controller_choice import ControllerChoice
from tests.lab.lines import dcnlab
from tests.ovs import poll

_HEADER = struct.Struct(">BBHI")
_OPENFLOW_13, _HELLO, _ECHO_REQUEST, _ECHO_REPLY, _ROLE_REQUEST = 4, 0, 2, 3, 24
MASTER, SLAVE = 2, 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("remote:10.0.0.1:6653,6654", "controller '6654' is not remote:HOST:PORT"),
        ("remote:10.0.0.1:6653,ssl:10.0.0.1:6654", "is not remote:HOST:PORT"),
        ("remote:10.0.0.1:6653,remote:10.0.0.1:6653", "each once"),
        (",".join(f"remote:10.0.0.1:{port}" for port in range(1, 10)), "name 8 at most"),
    ],
)
def test_what_names_no_controllers_is_refused(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        ControllerChoice.parse(text)


def test_several_controllers_are_named_in_their_order() -> None:
    choice = ControllerChoice.parse("ssl:[fd00::1]:6653,ssl:other:7000")
    assert choice.remotes == (("fd00::1", 6653), ("other", 7000))
    assert (choice.tls, choice.named(1)) == (True, "ssl:other:7000")


@contextlib.contextmanager
def claims(role: int, generation: int = 1) -> Iterator[int]:
    """A controller that only says hello and asks for a role at every switch; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        open_ones: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    switch = listener.accept()[0]
                    open_ones.append(switch)
                    threading.Thread(target=speak, args=(switch, role, generation), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for switch in open_ones:
                with contextlib.suppress(OSError):
                    switch.shutdown(socket.SHUT_RDWR)
                switch.close()


def speak(switch: socket.socket, role: int, generation: int) -> None:
    with contextlib.suppress(OSError), switch.makefile("rb") as stream:
        switch.sendall(_HEADER.pack(_OPENFLOW_13, _HELLO, _HEADER.size, 1))
        while header := stream.read(_HEADER.size):
            _, kind, size, number = _HEADER.unpack(header)
            body = stream.read(size - _HEADER.size)
            if kind == _HELLO:
                request = struct.pack(">IxxxxQ", role, generation)
                switch.sendall(_HEADER.pack(_OPENFLOW_13, _ROLE_REQUEST, 24, 2) + request)
            elif kind == _ECHO_REQUEST:
                switch.sendall(_HEADER.pack(_OPENFLOW_13, _ECHO_REPLY, size, number) + body)


@pytest.mark.lab
def test_roles_are_shown_and_one_controller_may_end() -> None:
    with contextlib.ExitStack() as first, claims(SLAVE) as second:
        master = first.enter_context(claims(MASTER))
        names = [f"remote:127.0.0.1:{port}" for port in (master, second)]
        with Lab("fattree:2", controller=",".join(names), no_loops=True) as lab:
            switches = len([node for node in lab.nodes() if node["kind"] == "switch"])
            wanted = [(names[0], switches, {"master": switches}), (names[1], switches, {"slave": switches})]

            def seen() -> list[tuple[str, int, dict[str, int]]]:
                return [(one.controller, one.connected, one.roles) for one in lab.control().controllers]

            poll(lambda: seen() == wanted, 30)
            assert lab.control().connected == switches
            shown = dcnlab("info", lab.config.name).stdout
            for name, role in zip(names, ("master", "slave"), strict=True):
                assert f"{switches} connected: {role} of {switches}" in next(
                    line for line in shown.splitlines() if line.startswith(name)
                )
            first.close()
            poll(lambda: [one[1] for one in seen()] == [0, switches], 30)
            assert lab.control().connected == switches
            lost = f"controller {names[0]}: 0 of {switches} switches connected"
            poll(lambda: any(note.startswith(lost) for note in lab.control().notes), 30)

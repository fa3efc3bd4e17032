"""``python -m dcnlab.lab.capture.conversation``: what several interfaces see, as one capture.

The switches of a lab are spread over several network namespaces, and talk to the controller inside theirs.  A
node has several ports.  This program runs a tcpdump at each interface and merges what they write: to standard
output as pcap or pcapng, or shown by one more tcpdump.

Its argument is a :class:`Merged` as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from dcnlab.lab.capture import pcapng
from dcnlab.lab.capture.merging import Merged
from dcnlab.lab.contract.codec import decode

_HEADER = 24
_RECORD = struct.Struct("=IIII")
_CHUNK = 1 << 16
_TCPDUMP = ("tcpdump", "-Z", "root", "-n")
#: From the number of a capture, its bytes, and whether they are its header, to what is written.
_Write = Callable[[int, bytes, bool], bytes]


def main() -> int:
    """Capture until the tcpdumps end, by a signal to all, or until ``count`` packets were written."""
    wanted = decode(Merged, json.loads(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they end the tcpdumps, and so this program
        signal.signal(number, lambda *_: None)
    listening = _start(wanted)
    if not listening:
        return 1
    print(f"listening on {_names(wanted, listening)}: {wanted.expression}", file=sys.stderr, flush=True)
    shown = None if wanted.show is None else _shower(wanted.show)
    sink = sys.stdout.buffer if shown is None or shown.stdin is None else shown.stdin
    write = _as_pcapng(list(listening)) if wanted.pcapng else _as_pcap()
    with contextlib.suppress(BrokenPipeError):
        _merge(list(listening.values()), sink, write, wanted.count)
    for capture in listening.values():
        capture.terminate()
    if shown is not None and shown.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            shown.stdin.close()
        shown.wait()
    return 0


def _start(wanted: Merged) -> dict[str, subprocess.Popen[bytes]]:
    """The tcpdumps that listen, by namespace and interface; none, with a complaint printed, if that fails.

    With pcapng one is enough: a filter need not suit every interface (a tunnel has no Ethernet addresses).
    """
    captures = {
        f"{namespace} {interface}": _capture(namespace, interface, wanted.expression)
        for namespace, interface in wanted.interfaces
    }
    complaints = {name: _complaint(capture) for name, capture in captures.items()}
    failed = [said for said in complaints.values() if said]
    if len(failed) > (len(captures) - 1 if wanted.pcapng else 0):
        sys.stderr.buffer.write(failed[0])
        return {}
    return {name: capture for name, capture in captures.items() if not complaints[name]}


def _names(wanted: Merged, listening: Iterable[str]) -> str:
    """The interfaces that are captured, as text."""
    if wanted.pcapng:
        return ", ".join(name.split()[1] for name in listening)
    return "lo of " + ", ".join(namespace for namespace, _ in wanted.interfaces)


def _capture(namespace: str, interface: str, expression: str) -> subprocess.Popen[bytes]:
    inside = ["nsenter", f"--net=/run/netns/{namespace}", "--"]
    argv = [*inside, *_TCPDUMP, "--immediate-mode", "-i", interface, "-U", "-w", "-", "--", expression]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def _complaint(capture: subprocess.Popen[bytes]) -> bytes:
    """Wait until a tcpdump listens; its complaint when it has ended instead, else nothing."""
    assert capture.stderr is not None
    said = b""
    for line in capture.stderr:
        if b"listening on" in line:
            return b""
        said += line
    return said or b"tcpdump has ended\n"


def _shower(options: list[str]) -> subprocess.Popen[bytes]:
    argv = [*_TCPDUMP, *options, "-r", "-"]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _merge(captures: list[subprocess.Popen[bytes]], sink: IO[bytes], write: _Write, count: int | None) -> None:
    """Write the packets of all captures as they come."""
    written = 0
    for number, data, is_header in _pieces(captures):
        sink.write(write(number, data, is_header))
        sink.flush()
        written += not is_header
        if written == count:
            return


def _as_pcap() -> _Write:
    """All packets below the first header: the interfaces are of one kind."""
    headed = False

    def write(_: int, data: bytes, is_header: bool) -> bytes:
        nonlocal headed
        if is_header and headed:
            return b""
        headed = True
        return data

    return write


def _as_pcapng(names: list[str]) -> _Write:
    """A description of each interface before its first packet: they may differ in kind."""
    numbers: dict[int, int] = {}

    def write(capture: int, data: bytes, is_header: bool) -> bytes:
        if not is_header:
            return pcapng.packet(numbers[capture], data)
        numbers[capture] = len(numbers)
        begin = b"" if len(numbers) > 1 else pcapng.section()
        return begin + pcapng.interface(names[capture].split()[1], data)

    return write


def _pieces(captures: list[subprocess.Popen[bytes]]) -> Iterator[tuple[int, bytes, bool]]:
    """The header of each capture and its packets: the number of the capture, the bytes, whether a header."""
    buffers: dict[int, tuple[int, bytearray, list[bool]]] = {}
    with selectors.DefaultSelector() as selector:
        for number, capture in enumerate(captures):
            assert capture.stdout is not None
            descriptor = capture.stdout.fileno()
            buffers[descriptor] = number, bytearray(), [False]
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fd)
                number, buffer, headed = buffers[key.fd]
                buffer += data
                yield from ((number, *piece) for piece in _complete(buffer, headed))


def _complete(buffer: bytearray, headed: list[bool]) -> Iterator[tuple[bytes, bool]]:
    """Take what is complete off a buffer."""
    while len(buffer) >= (size := _size(buffer, headed[0])):
        piece, is_header = bytes(buffer[:size]), not headed[0]
        del buffer[:size]
        headed[0] = True
        yield piece, is_header


def _size(buffer: bytearray, headed: bool) -> int:
    """The size of the header or packet that a buffer begins with, as far as that is known."""
    if not headed:
        return _HEADER
    if len(buffer) < _RECORD.size:
        return _RECORD.size
    captured: Any = _RECORD.unpack_from(buffer)[2]
    return _RECORD.size + int(captured)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m dcnlab.lab.inspection.conversation``: what switches and controller say, as one capture.

The switches of a lab are spread over several network namespaces, and talk to the controller inside theirs.
This program runs a tcpdump in each and merges what they write: to standard output as pcap, or shown by one
more tcpdump.

    {"namespaces": ["ovs0", "ovs1"], "expression": "tcp port 6653", "show": [], "count": null}

``show`` has options of the tcpdump that shows packets; null: write pcap.
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
from collections.abc import Iterator
from typing import IO, Any

_HEADER = 24
_RECORD = struct.Struct("=IIII")
_CHUNK = 1 << 16
_TCPDUMP = ("tcpdump", "-Z", "root", "-n")


def main() -> int:
    """Capture until the tcpdumps end, by a signal to all, or until ``count`` packets were written."""
    request = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they end the tcpdumps, and so this program
        signal.signal(number, lambda *_: None)
    captures = [_capture(name, request["expression"]) for name in request["namespaces"]]
    for capture in captures:
        if not _listens(capture):
            return 1
    names = ", ".join(request["namespaces"])
    print(f"listening on lo of {names}: {request['expression']}", file=sys.stderr, flush=True)
    shown = None if request["show"] is None else _shower(request["show"])
    sink = sys.stdout.buffer if shown is None or shown.stdin is None else shown.stdin
    with contextlib.suppress(BrokenPipeError):
        _merge(captures, sink, request["count"])
    for capture in captures:
        capture.terminate()
    if shown is not None and shown.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            shown.stdin.close()
        shown.wait()
    return 0


def _capture(namespace: str, expression: str) -> subprocess.Popen[bytes]:
    inside = ["nsenter", f"--net=/run/netns/{namespace}", "--"]
    words = [*inside, *_TCPDUMP, "--immediate-mode", "-i", "lo", "-U", "-w", "-", expression]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def _listens(capture: subprocess.Popen[bytes]) -> bool:
    """Wait until a tcpdump listens; False, with its complaint printed, when it has ended instead."""
    assert capture.stderr is not None
    said = b""
    for line in capture.stderr:
        if b"listening on" in line:
            return True
        said += line
    sys.stderr.buffer.write(said)
    return False


def _shower(options: list[str]) -> subprocess.Popen[bytes]:
    words = [*_TCPDUMP, *options, "-r", "-"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _merge(captures: list[subprocess.Popen[bytes]], sink: IO[bytes], count: int | None) -> None:
    """Write the packets of all captures as they come, below one header."""
    written, headed = 0, False
    for data, is_header in _pieces(captures):
        if is_header and headed:
            continue
        sink.write(data)
        sink.flush()
        headed = True
        written += not is_header
        if written == count:
            return


def _pieces(captures: list[subprocess.Popen[bytes]]) -> Iterator[tuple[bytes, bool]]:
    """The header of each capture and its packets, and which of the two it is."""
    buffers: dict[int, tuple[bytearray, list[bool]]] = {}
    with selectors.DefaultSelector() as selector:
        for capture in captures:
            assert capture.stdout is not None
            descriptor = capture.stdout.fileno()
            buffers[descriptor] = bytearray(), [False]
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fd)
                buffer, headed = buffers[key.fd]
                buffer += data
                yield from _complete(buffer, headed)


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

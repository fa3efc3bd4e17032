"""Switches of a lab reach a controller outside it: ``python -m dcnlab.lab.emulation.switches.forwarder``.

Arguments: FD HOST PORT.

The guard starts this process outside the lab's namespaces.  The session passes listening sockets of the lab
through the socket FD; each connection that they accept is connected to HOST:PORT, and to nothing else.
Whether that works is reported as one JSON object per line: ``{"error": ""}`` or with a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Callable

from controller.checksums import Messages
from dcnlab.lab.emulation.outside import CONNECT_TIMEOUT, reason
from dcnlab.lab.emulation.sandbox import die_with_parent

_MAX_LISTENERS = 64
_CHUNK = 1 << 16


def main() -> None:
    """Forward until the session closes its end of the channel."""
    die_with_parent()
    descriptor, host, port = sys.argv[1:]
    channel = socket.socket(fileno=int(descriptor))
    asyncio.run(_Forwarder(channel, host, int(port)).run())


class _Forwarder:
    def __init__(self, channel: socket.socket, host: str, port: int) -> None:
        self._channel, self._host, self._port = channel, host, port
        self._servers: list[asyncio.Server] = []
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Take listening sockets as they come."""
        self._channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self._channel, self._receive)
        await self._ended.wait()

    def _receive(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._channel, _CHUNK, _MAX_LISTENERS)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        for descriptor in descriptors:
            task = asyncio.ensure_future(self._listen(socket.socket(fileno=descriptor)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not data:
            self._ended.set()

    async def _listen(self, listener: socket.socket) -> None:
        self._servers.append(await asyncio.start_server(self._serve, sock=listener))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One switch: connect to the controller and forward both ways until either side ends."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError) as error:
            self._report(reason(error))
            writer.close()
            return
        self._report("")
        both = [
            asyncio.ensure_future(_pump(reader, far_writer, Messages().passed_on)),
            asyncio.ensure_future(_pump(far_reader, writer)),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        writer.close()
        far_writer.close()

    def _report(self, error: str) -> None:
        with contextlib.suppress(OSError):  # the session does not read at the moment, or has ended
            self._channel.send(json.dumps({"error": error}).encode() + b"\n")


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes] = bytes
) -> None:
    """Forward one direction until it ends, what has arrived as ``change`` makes it."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(change(data))
            await writer.drain()


if __name__ == "__main__":
    main()

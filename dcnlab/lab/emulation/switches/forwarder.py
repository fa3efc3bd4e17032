"""Switches of a lab reach a controller outside it: ``python -m dcnlab.lab.emulation.switches.forwarder``.

Arguments: FD HOST PORT [HOST PORT ...].

The guard starts this process outside the lab's namespaces.  The session passes listening sockets of the lab
through the socket FD, with the number of a controller; each connection that they accept is connected to that
HOST:PORT, and to nothing else.
A connection to the session comes by it too: the lab corrects answers of switches there.
Whether that works is reported as one JSON object per line: ``{"error": ""}`` or with a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket
import sys
from collections.abc import Sequence

from controller.checksums import Messages, complete_message
from controller.conversation import Answers, Conversation
from dcnlab.lab.emulation.outside import ANSWERS, CONNECT_TIMEOUT, reason
from hostagent.linux.namespaces import die_with_parent

_MAX_LISTENERS = 64
_CHUNK = 1 << 16
#: What comes from one end, how to send there, and what makes the messages that are sent.
_End = tuple[asyncio.StreamReader, asyncio.StreamWriter, Messages]


def main() -> None:
    """Forward until the session closes its end of the channel."""
    die_with_parent()
    descriptor, *ends = sys.argv[1:]
    channel = socket.socket(fileno=int(descriptor))
    remotes = [(host, int(port)) for host, port in zip(ends[::2], ends[1::2], strict=True)]
    asyncio.run(_Forwarder(channel, remotes).run())


class _Forwarder:
    def __init__(self, channel: socket.socket, remotes: Sequence[tuple[str, int]]) -> None:
        self._channel, self._remotes = channel, remotes
        self._servers: list[asyncio.Server] = []
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: Answers | None = None

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
        if data == ANSWERS:
            connection = socket.socket(fileno=descriptors.pop())
            self._answers = Answers(lambda: connection)
        for descriptor in descriptors:
            task = asyncio.ensure_future(self._listen(socket.socket(fileno=descriptor), data[0]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not data:
            self._ended.set()

    async def _listen(self, listener: socket.socket, number: int) -> None:
        serve = functools.partial(self._serve, self._remotes[number])
        self._servers.append(await asyncio.start_server(serve, sock=listener))

    async def _serve(
        self, remote: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One switch: connect to the controller and forward both ways until either side ends."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                far_reader, far_writer = await asyncio.open_connection(*remote)
        except (OSError, TimeoutError) as error:
            self._report(reason(error))
            writer.close()
            return
        self._report("")
        told = Conversation(self._correct)
        answered = Messages(lambda message: told.answered(complete_message(message)))
        await pump_both((reader, writer, Messages(told.asked)), (far_reader, far_writer, answered))

    def _correct(self, switch: int, request: bytes, answer: bytes) -> bytes:
        return answer if self._answers is None else self._answers.correct(switch, request, answer)

    def _report(self, error: str) -> None:
        with contextlib.suppress(OSError):  # the session does not read at the moment, or has ended
            self._channel.send(json.dumps({"error": error}).encode() + b"\n")


async def pump_both(one: _End, other: _End) -> None:
    """Forward both ways until either end closes; what is sent to an end passes its messages."""
    both = [asyncio.ensure_future(_pump(one[0], *other[1:])), asyncio.ensure_future(_pump(other[0], *one[1:]))]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for task in both:
        task.cancel()
    one[1].close()
    other[1].close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, messages: Messages) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(messages.passed_on(data))
            await writer.drain()


if __name__ == "__main__":
    main()

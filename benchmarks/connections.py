"""The controller with switches that are simulated: they connect, take their tables and answer the barrier.

    python -m benchmarks connections [TOPOLOGY ...] [--scheme NAME] [--json]

The controller's process is the real one, on os-ken and on Ryu.  A simulated switch answers at once and keeps
nothing.  `tables_s` is the time from the first connection to the last barrier, `user_s` and `system_s` the
controller's processor time until then, its start included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import struct
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from topos import registry
from topos.fabric import Fabric

_HEADER = struct.Struct("!BBHI")
_FEATURES = struct.Struct("!QIBB2xII")
_VERSION, _HELLO, _ECHO, _FEATURES_REQUEST, _STATISTICS, _BARRIER = 4, 0, 2, 5, 18, 20
_LIMIT = 600.0


@dataclass
class Row:
    """One controller; the units are in the names."""

    topology: str
    backend: str
    switches: int
    tables_s: float
    user_s: float
    system_s: float
    threads: int


class Switches:
    """All switches of a fabric as the controller at ``port`` sees them."""

    def __init__(self, fabric: Fabric, port: int) -> None:
        self._fabric, self._port = fabric, port
        self.filled = 0

    async def connect(self) -> None:
        """Return when every switch has answered the barrier after its table."""
        switches = range(self._fabric.servers, self._fabric.size)
        served = [asyncio.ensure_future(self._serve(switch)) for switch in switches]
        while self.filled < len(served):
            await asyncio.sleep(0.01)
        for one in served:
            one.cancel()

    async def _serve(self, switch: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(_HEADER.pack(_VERSION, _HELLO, _HEADER.size, 1))
        while True:
            _, kind, size, number = _HEADER.unpack(await reader.readexactly(_HEADER.size))
            body = await reader.readexactly(size - _HEADER.size)
            answer = self._answer(switch, kind, body)
            if answer is not None:
                writer.write(_HEADER.pack(_VERSION, kind + 1, _HEADER.size + len(answer), number) + answer)
            self.filled += kind == _BARRIER

    def _answer(self, switch: int, kind: int, body: bytes) -> bytes | None:
        """The body of the answer to a message; None if it needs none."""
        if kind == _FEATURES_REQUEST:
            return _FEATURES.pack(switch - self._fabric.servers + 1, 256, 254, 0, 0x4F, 0)
        if kind == _STATISTICS:  # no switch has a port yet, or an entry
            return body[:2] + bytes(6)
        return {_ECHO: body, _BARRIER: b""}.get(kind)


def measure(spec: str, scheme: str, backend: str) -> Row:
    """One controller, from its start to the last barrier."""
    ours, its = socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    numbers = [its.fileno(), listener.fileno()]
    command = [sys.executable, "-P", "-m", "controller", "--topology", spec, "--scheme", scheme]
    command += ["--backend", backend, "--control-fd", str(numbers[0]), "--listen-fd", str(numbers[1])]
    process = subprocess.Popen(command, pass_fds=numbers, stderr=subprocess.DEVNULL)
    port = listener.getsockname()[1]
    its.close()
    listener.close()
    with ours:
        try:
            return asyncio.run(_measured(process.pid, ours, spec, backend, port))
        finally:
            process.kill()
            process.wait()


async def _read(reader: asyncio.StreamReader) -> None:
    """Take what the controller says to its lab: it would wait otherwise."""
    while await reader.read(1 << 16):
        pass


async def _measured(pid: int, control: socket.socket, spec: str, backend: str, port: int) -> Row:
    fabric = registry.fabric(spec)
    reader, _ = await asyncio.open_connection(sock=control)
    await asyncio.wait_for(reader.readuntil(b"listening"), _LIMIT)
    begun = time.monotonic()
    read = asyncio.ensure_future(_read(reader))
    await asyncio.wait_for(Switches(fabric, port).connect(), _LIMIT)
    read.cancel()
    tables_s = time.monotonic() - begun
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    user, system, threads = int(fields[11]), int(fields[12]), int(fields[17])
    count = fabric.size - fabric.servers
    return Row(spec, backend, count, round(tables_s, 2), user / 100, system / 100, threads)


def main() -> None:
    """The command line: a row for each topology and library."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks connections", description=__doc__)
    parser.add_argument("topologies", nargs="*", default=["bcube:8,2", "bcube:8,3"])
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    backends = ["os-ken", *(["ryu"] if find_spec("ryu") else [])]
    for spec in options.topologies:
        for backend in backends:
            row = asdict(measure(spec, options.scheme, backend))
            text = "  ".join(f"{name} {value}" for name, value in row.items())
            print(json.dumps(row) if options.json else text, flush=True)


if __name__ == "__main__":
    main()

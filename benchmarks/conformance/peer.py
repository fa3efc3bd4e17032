"""The program in the lab: reads requests as lines of JSON, changes the switch's tables, sends and receives.

A request has ``steps``, each a list of: arguments of ovs-ofctl, its input, whether it must be refused, what
must be gone from its output; or ``frames``, a list of port and hexadecimal: then the answer has what came out.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from typing import Any

from hostagent.runtime.devices import inside

PORTS = (1, 2, 3)
#: The frames that end a measurement leave by all ports; see the entry of this address in running.py.
_END = "0e" * 6 + "06000000000088b5" + "00" * 46
_AUXILIARY = struct.Struct("=IIIHHHH")
_VLAN_VALID, _TPID_VALID = 1 << 4, 1 << 6
_PATIENCE = 30.0


def opened(port: int) -> socket.socket:
    """A packet socket at a port's host, which sees no frame of its own."""
    name = f"h{port - 1}"
    with inside(f"/run/netns/{name}"):
        handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        handle.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
        handle.setsockopt(263, 8, 1)  # PACKET_AUXDATA
        handle.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        handle.bind((f"{name}-eth1", 3))
    return handle


def received(handle: socket.socket) -> bytes:
    """The next frame, with the tag that the kernel keeps beside it."""
    data, extra, _, _ = handle.recvmsg(65536, 256)
    for level, kind, content in extra:
        if (level, kind) == (263, 8):
            status, _, _, _, _, tag, protocol = _AUXILIARY.unpack(content[: _AUXILIARY.size])
            if status & _VLAN_VALID:
                outer = protocol if status & _TPID_VALID else 0x8100
                data = data[:12] + struct.pack(">HH", outer, tag) + data[12:]
    return data


def exchanged(handles: dict[int, socket.socket], frames: list[Any], mark: bytes, down: list[int]) -> Any:
    """Send the frames; what each port received, and the seconds that it took."""
    for handle in handles.values():
        handle.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # that its interface has been down since
    begun = time.monotonic()
    for port, frame in frames:
        handles[port].send(bytes.fromhex(frame))
    seen: dict[int, list[str]] = {port: [] for port in PORTS}
    up = [port for port in PORTS if port not in down]
    for _ in range(2):  # the switch reorders frames that it reads together
        for port in up:
            handles[port].send(bytes.fromhex(_END) + bytes([port]))
        for port in up:
            ends: set[int] = set()
            handles[port].settimeout(_PATIENCE)
            while len(ends) < len(up):
                data = received(handles[port])
                if data.startswith(bytes.fromhex(_END[:12])):
                    ends.add(data[-1])
                elif mark in data:
                    seen[port].append(data.hex())
    return {"found": seen, "seconds": time.monotonic() - begun}


def stepped(argv: list[str], text: str, refused: bool, gone: str) -> str:
    """Carry out a step; why it is not as it should be, if it is not."""
    end = time.monotonic() + _PATIENCE
    while True:
        done = subprocess.run(["ovs-ofctl", *argv], input=text, capture_output=True, text=True, check=False)
        if gone and gone in done.stdout and time.monotonic() < end:
            time.sleep(0.02)
            continue
        if gone and gone in done.stdout:
            return f"{gone!r} is still there"
        if bool(done.returncode) != refused:
            return "not refused" if refused else f"refused: {' '.join(done.stderr.split())[:120]}"
        return ""


def by_kernel() -> int:
    """Packets that entries of the switch have counted beyond those that Open vSwitch itself has."""
    counts = []
    for target in ("s0", f"unix:{os.environ['OVS_RUNDIR']}/s0.switch"):
        argv = ["ovs-ofctl", "-O", "OpenFlow13", "dump-aggregate", target]
        printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        counts.append(int(printed.split("packet_count=")[1].split()[0]))
    return max(0, counts[0] - counts[1])


def main() -> None:
    """Answer requests until the input ends."""
    handles = {port: opened(port) for port in PORTS}
    mark = sys.argv[1].encode()
    for line in sys.stdin:
        request = json.loads(line)
        answer: Any
        if "steps" in request:
            answer = next(filter(None, (stepped(*step) for step in request["steps"])), "")
        elif "trace" in request:
            answer = subprocess.run(["ovs-appctl", "ofproto/trace", *request["trace"]], capture_output=True,
                                    text=True, check=False).stdout  # fmt: skip
        elif "by_kernel" in request:
            answer = by_kernel()
        else:
            answer = exchanged(handles, request["frames"], mark, request["down"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

"""Signals of a client reach the programs that a lab runs for it; they end when the client disconnects."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading

from dcnlab.lab.control.rpc import Call


def terminate_with_client(client: socket.socket, process: subprocess.Popen[str]) -> None:
    """In the background, terminate the process when the other end of ``client`` is closed."""
    arguments = (client.fileno(), os.pidfd_open(process.pid))
    threading.Thread(target=_watch, args=arguments, daemon=True).start()


def _watch(client: int, process: int) -> None:
    """Wait until the client or the process ends."""
    watched = select.poll()
    watched.register(process, select.POLLIN)
    watched.register(client, select.POLLRDHUP)
    try:
        if all(ready != process for ready, _ in watched.poll()):
            signal.pidfd_send_signal(process, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended
    finally:
        os.close(process)


def forward_signals(call: Call, process: subprocess.Popen[bytes]) -> None:
    """Forward the client's signals to the program; send SIGHUP when the client disconnects."""
    for message in call.messages():
        _kill(process, int(message.get("signal", signal.SIGTERM)))
    _kill(process, signal.SIGHUP)


def _kill(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):  # it has ended just now
            os.killpg(process.pid, number)

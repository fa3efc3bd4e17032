"""``python -m dcnlab.lab.machines``: the coordinator of a lab on many machines.

It stands where the guard of a lab on one machine stands (:mod:`dcnlab.lab.emulation.sandbox`): the command
starts it with the same request, and it listens at the same control socket.  It has no namespaces: the parts are
on the machines.  When it ends, for any reason, Dask's scheduler releases the parts, and each machine ends its
own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from dcnlab.lab import log
from dcnlab.lab.contract.launch import LaunchReport, LaunchRequest
from dcnlab.lab.control import holders, rpc
from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.emulation import sandbox
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines import exposing
from dcnlab.lab.machines.launching import Launch
from dcnlab.lab.machines.members import Members
from dcnlab.lab.options.config import LabConfig

_log = logging.getLogger(__name__)


def main() -> None:
    """Launch all parts, serve until ``down``, or until the command ends."""
    request = LaunchRequest.read(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    path, status = Path(request.socket), request.status
    try:
        listener = sandbox.listen(path)
    except OSError as error:
        taken = isinstance(error, FileExistsError)
        sandbox.fail(status, f"cannot make the control socket {path}: {error.strerror}", taken=taken)
    request = sandbox.redirect_output(request, path.with_suffix(".log"))
    log.set_up("coordinator", os.fdopen(os.dup(2), "w", buffering=1))
    code = 1
    try:
        code = _coordinate(request, listener)
    finally:
        if code != 1:
            path.with_suffix(".log").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        listener.close()
    logging.shutdown()
    os._exit(code)  # without waiting for threads


def _coordinate(request: LaunchRequest, listener: socket.socket) -> int:
    def report(message: LaunchReport) -> None:
        with contextlib.suppress(OSError):
            os.write(request.status, message.line())

    config = LabConfig.from_json(request.config)
    if request.script:
        text = "a Mininet script needs a lab on one machine: use -d, --test or Python"
        report(LaunchReport(error=text, code=2))
        return 2
    lifeline = _Lifeline(request.lifeline, Path(request.socket))

    def on_stage(stage: str) -> None:
        report(LaunchReport(stage=stage))
        if stage == "parts":  # what is needed after the launch: this process has nothing to do until then
            threading.Thread(target=import_module, args=("dcnlab.lab.session.recording",)).start()

    try:
        listening = exposing.listen(config)
        launched = Launch(config, on_stage)
    except LabError as error:
        _log.error("launch failed", exc_info=True)
        report(LaunchReport(error=str(error), code=error.exit_code))
        return error.exit_code
    lab = launched.lab
    lab.others = Members(launched)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=lab.end).start())
    lifeline.follow(lab)
    exposing.start(lab, listening)
    report(LaunchReport(ready=True, seconds=lab.seconds, aacm=lab.configured))
    os.close(request.status)
    holders.announce_serving()
    return _serve(lab, listener, request)


def _serve(lab: Coordinator, listener: socket.socket, request: LaunchRequest) -> int:
    """Serve clients until the lab ends, maybe beside a prompt."""
    from dcnlab.lab.session import recording

    answer = recording.answering(lab.perform, lab.journal)
    arguments = (listener, answer, lab.stop)
    if request.errors is None:
        rpc.serve(*arguments)
        return 0
    from dcnlab.lab.machines import prompt
    from dcnlab.lab.session.commands import Commands

    server = threading.Thread(target=rpc.serve, args=arguments, daemon=True)
    server.start()
    os.dup2(request.errors, 2)  # the programs of the prompt write to the user's terminal
    commands = Commands(socket.socket(fileno=request.commands))
    prompt.run(lab.fabric, answer, Path(request.socket), commands)
    lab.end()
    server.join()
    return 0


class _Lifeline:
    """The pipe from the command: a byte says that the lab is detached, its end that the command has ended."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor, self._path = descriptor, path
        self._lab: Coordinator | None = None
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def follow(self, lab: Coordinator) -> None:
        """End this lab with the command."""
        self._lab = lab
        self._ready.set()

    def _run(self) -> None:
        if os.read(self._descriptor, 1):
            return
        if not self._ready.wait(0):
            _end_launch(self._path)
        assert self._lab is not None
        self._lab.end()


def _end_launch(path: Path) -> NoReturn:
    """The command has ended during the launch: Dask ends what was launched."""
    path.with_suffix(".log").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    os._exit(1)


if __name__ == "__main__":
    main()

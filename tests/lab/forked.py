"""Programs whose processes are children of one that has imported dcnlab: imports are most of a command.

``dcnlab`` is the program, ``python-script FILE`` runs a script.

Each command has arguments, a folder, variables, standard streams and an exit code of its own, as in
a new process.  What it loads, others do not have.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: What most commands import.
MODULES = (
    "addressing.schemes.brp", "dcnlab.cli.parameters.arguments", "dcnlab.cli.launching", "dcnlab.cli.program",
    "dcnlab.evaluator.compare", "dcnlab.evaluator.evaluate", "dcnlab.evaluator.traffic.onoff",
    "dcnlab.lab.client", "dcnlab.lab.emulation.capacity", "dcnlab.lab.naming", "dcnlab.lab.options.config",
    "dcnlab.lab.scenario.runner", "networkx", "pydantic", "scipy.optimize", "topos.families.bcube", "zoneinfo",
)  # fmt: skip
SCRIPT = "python-script"
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [b" "], [0, 1, 2])
    server.sendall(json.dumps([os.getcwd(), dict(os.environ), sys.argv]).encode())
    server.shutdown(socket.SHUT_WR)
    code = int(server.recv(16))
    sys.exit(code if code >= 0 else 128 - code)
"""


@contextlib.contextmanager
def programs(folder: Path) -> Iterator[Path]:
    """The folder of those programs, as long as the block lasts."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        words = [sys.executable, "-m", "tests.lab.forked", str(listener.fileno())]
        server = subprocess.Popen(words, pass_fds=[listener.fileno()], cwd=Path(__file__).parents[2])
    for client in (folder / "dcnlab", folder / SCRIPT):
        client.write_text(CLIENT.format(python=sys.executable, path=str(folder / "socket")))
        client.chmod(0o755)
    try:
        yield folder
    finally:
        server.terminate()
        server.wait()


def serve(listener: socket.socket) -> None:
    """Run commands until the process is ended; returns in children only, whose command is in ``sys.argv``."""
    for name in MODULES:
        importlib.import_module(name)
    gc.freeze()  # children look for garbage in what is theirs only
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.data is None:
                client, _address = listener.accept()
                if not (child := os.fork()):
                    _become(client)
                    return
                waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, client))
            else:
                child, client = key.data
                waiting.unregister(key.fd)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                with client, contextlib.suppress(BrokenPipeError):  # nobody may be interested any more
                    client.sendall(b"%d" % code)


def _become(client: socket.socket) -> None:
    """Take over the folder, the variables, the words and the streams of a client."""
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    with client.makefile() as request:
        folder, variables, words = json.load(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    client.close()
    sys.argv[:] = words


def run() -> int:
    """Run the program that ``sys.argv`` names; its exit code."""
    try:
        if Path(sys.argv[0]).name == SCRIPT:
            del sys.argv[0]
            sys.path[0] = str(Path(sys.argv[0]).parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
        else:
            sys.path[0] = str(Path(sys.executable).parent)
            runpy.run_module("dcnlab.cli", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    code = run()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)  # the interpreter's tidying takes longer than most commands

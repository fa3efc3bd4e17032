"""Run programs in the nodes of a lab, on the descriptors of a client."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace

from dcnlab.lab import naming
from dcnlab.lab.contract.programs import Exit
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.program import Program
from dcnlab.lab.running import program_start
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.running.process_guard import forward_signals

#: The exit code of shells for a file that is no program.
_NOT_RUN = 126


def run(
    session: LocalMachine,
    call: Call,
    node: str,
    argv: Sequence[str],
    *,
    program: Program | None = None,
    terminal: str = "",
    ours: bool = False,
) -> Exit:
    """Run a command in a node on the call's descriptors, which may be a ``terminal`` of that kind only.

    ``program`` has environment, folder, folders of the host's own and limits; UsageError then for a program
    that does not exist.  ``ours`` says that the lab chose the command: it is not isolated.
    """
    stdin, stdout, stderr = call.descriptors
    wanted = Program(tuple(argv)) if program is None else replace(program, words=tuple(argv))
    if program is None:
        root = None if ours else program_start.root_of(session, node, wanted)
        if error := program_start.launch_error(argv[0], root):
            code, text = error
            os.write(stderr, f"dcnlab: {text}\n".encode())
            return Exit(code)
    streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    try:
        started = program_start.start(session, node, wanted, terminal=terminal, ours=ours, **streams)
    except program_start.CannotRunError as error:
        if program is not None:
            raise
        os.write(stderr, f"dcnlab: {error}\n".encode())
        return Exit(_NOT_RUN)
    call.close_descriptors()
    call.progress({"started": started.process.pid})
    threading.Thread(target=forward_signals, args=(call, started.process), daemon=True).start()
    return Exit(started.wait())


def addressed(session: LocalMachine, word: str, version: int) -> str:
    """The address of the server that a word names (``h7``, ``(1,1)``), else the word itself."""
    server = naming.in_command(session.fabric, word)
    return word if server is None else session.address(server, version)

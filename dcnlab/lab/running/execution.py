"""Run programs in the nodes of a lab, on the descriptors of a client."""

from __future__ import annotations

import os
import threading
from typing import Any

from dcnlab.lab import naming
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.program import Program
from dcnlab.lab.running import starting
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.running.process_guard import forward_signals

#: The exit code of shells for a file that is no program.
_NOT_RUN = 126


def run(session: RunningLab, call: Call, words: list[str], *, ours: bool = False) -> dict[str, Any]:
    """Run a program in the node of a call, on the call's descriptors; its exit code.

    If the call has ``terminal``, the descriptors are a terminal of that kind, for this program only.  Without
    one it may have ``program``: environment, folder, folders of the host's own and limits; UsageError then for
    a program that does not exist.  ``ours`` says that the lab chose the program: it is not isolated.
    """
    name, terminal = call.request["node"], call.request.get("terminal")
    stdin, stdout, stderr = call.descriptors
    program = Program.from_json({**call.request.get("program", {}), "words": words})
    if "program" not in call.request:
        root = None if ours else starting.root_of(session, name, program)
        if error := starting.launch_error(words[0], root):
            code, text = error
            os.write(stderr, f"dcnlab: {text}\n".encode())
            return {"exit": code}
    streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    try:
        started = starting.start(session, name, program, terminal=terminal or "", ours=ours, **streams)
    except starting.CannotRunError as error:
        if "program" in call.request:
            raise
        os.write(stderr, f"dcnlab: {error}\n".encode())
        return {"exit": _NOT_RUN}
    call.close_descriptors()
    call.progress({"started": started.process.pid})
    threading.Thread(target=forward_signals, args=(call, started.process), daemon=True).start()
    return {"exit": started.wait()}


def addressed(session: RunningLab, word: str, version: int) -> str:
    """The address of the server that a word names (``h7``, ``(1,1)``), else the word itself."""
    server = naming.in_command(session.fabric, word)
    return word if server is None else session.address(server, version)

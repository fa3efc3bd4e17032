"""Run programs in the nodes of a lab, on the descriptors of a client."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import Any

from dcnlab.lab.emulation import programs, seccomp
from dcnlab.lab.rpc import Call
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.running.process_guard import forward_signals


def run(session: RunningLab, call: Call, words: list[str], *, ours: bool = False) -> dict[str, Any]:
    """Run a program in the node of a call, on the call's descriptors; its exit code.

    If the call has ``terminal``, the descriptors are a terminal of that kind, for this program only.
    ``ours`` says that the lab chose the program: it is not isolated.
    """
    name, terminal = call.request["node"], call.request.get("terminal")
    environment = _environment(session, name)
    prefix = ["setsid", "--ctty", "--"] if terminal else []
    if terminal:
        environment = {**environment, "TERM": terminal}
    stdin, stdout, stderr = call.descriptors
    if launch_error := programs.launch_error(words[0]):
        code, text = launch_error
        os.write(stderr, f"dcnlab: {text}\n".encode())
        return {"exit": code}
    streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    options: dict[str, Any] = {**streams, "start_new_session": not terminal, "env": environment}
    node, isolation = session.node(name), None if ours else session.running.isolation
    if isolation is not None and session.fabric.is_server(node):
        process = isolation.start(session.fabric.name(node), words, prefix, **options)
    else:
        seccomp.pretend()
        process = subprocess.Popen([*prefix, *session.inside(name, words)], **options)
    call.close_descriptors()
    threading.Thread(target=forward_signals, args=(call, process), daemon=True).start()
    code = process.wait()
    return {"exit": code if code >= 0 else 128 - code}


def addressed(session: RunningLab, word: str, version: int) -> str:
    """The address of the server that a word names (``h7``, ``(1,1)``), else the word itself."""
    try:
        node = session.fabric.index(word)
    except KeyError:
        return word
    return session.address(node, version) if session.fabric.is_server(node) else word


def _environment(session: RunningLab, name: str) -> dict[str, str]:
    """The environment of programs in a node; at a switch, the ovs-* programs use its shard."""
    node = session.node(name)
    if session.fabric.is_server(node):
        return dict(os.environ)
    return session.running.shard(session.fabric.name(node)).environment

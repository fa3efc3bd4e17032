"""Programs and services in the hosts of a lab."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dcnlab.lab.methods import captured
from dcnlab.lab.methods.asking import Asking
from dcnlab.lab.methods.popen import Process
from dcnlab.lab.program import Program

if TYPE_CHECKING:  # it needs numpy and the topologies, which a client of a running lab does not
    from dcnlab.lab.contract.programs import ServiceState
    from dcnlab.lab.options.config import LabConfig


class ProgramOperations(Asking, ABC):
    """The part of :class:`dcnlab.lab.client.Lab` that runs programs in hosts."""

    @property
    @abstractmethod
    def config(self) -> LabConfig:
        """The topology, the scheme and the options of the lab."""

    def popen(
        self,
        node: str,
        words: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] = "",
        private: Sequence[str] = (),
        cpu: str = "",
        memory: str = "",
        image: str | os.PathLike[str] = "",
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> Process:
        """Start a program in a node; it runs beside other operations and can be awaited.

        ``private`` are folders that the host has for itself.  ``cpu`` ("20%" of one processor) and ``memory``
        ("256M") limit it.  ``image`` is its root file system: a folder, "oci:DIR:TAG" or "podman:NAME".
        ``stdin`` and ``stdout`` are descriptors; without ``stdout`` what it writes is kept for
        :meth:`Process.output`.  Words that name servers become their addresses; text is a command of
        a shell and stays as it is.  UsageError for a program that does not exist.
        """
        program = self.with_layout(Program.of(words, env, cwd, private, cpu, memory, image))
        return Process(self.path, node, program, stdin, stdout)

    def serve(
        self,
        name: str,
        node: str,
        words: str | Sequence[str],
        *,
        ready: str = "",
        within: float = 60.0,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] = "",
        private: Sequence[str] = (),
        cpu: str = "",
        memory: str = "",
        image: str | os.PathLike[str] = "",
    ) -> ServiceState:
        """Start a service: a program that runs until the lab ends, with a log of its own.

        Returns when it is ``ready``: "tcp:80", "log:TEXT", "exit:0", or without one at once.  LabError when it
        is not after ``within`` seconds, or when it has ended before.
        """
        program = self.with_layout(Program.of(words, env, cwd, private, cpu, memory, image))
        from dcnlab.lab.operations.service import Service

        return self.perform(Service(name, node, program, ready, within))

    def with_layout(self, program: Program) -> Program:
        """Return the program, with an image that the lab can read where it was a container engine's.

        In a lab on many machines, the machine of the host asks its own engine.
        """
        if not program.image or self.config.machines:
            return program
        from dcnlab.lab.emulation.images import engines  # few programs have an image

        return engines.of_program(program)

    def service_log(self, name: str, node: str = "") -> str:
        """What a service has written; ``node`` where several hosts have it."""
        from dcnlab.lab.operations.service_log import ReadServiceLog

        return self.perform(ReadServiceLog(name, node)).text

    def run(
        self, node: str, words: str | Sequence[str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the network namespace of a node and capture its output.

        Its standard input is that of this process; words that name servers become their addresses.  Text is a
        command of a shell, such as ``"ip route | head -1"``, and stays as it is.  The exit code is 127 for a
        program that does not exist, as in a shell.  UsageError for a node that does not exist, TimeoutExpired
        after ``timeout`` seconds.
        """
        return captured.run(self.path, node, words, timeout)

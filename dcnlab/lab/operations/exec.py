"""A program in a node, on the client's descriptors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import word
from dcnlab.lab.contract.operation import OPTIONAL, Operation, Route
from dcnlab.lab.contract.programs import Exit
from dcnlab.lab.errors import UsageError
from dcnlab.lab.program import Program

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Exec(Operation[Exit]):
    """Run a program in a node's namespace; words that name servers become their addresses.

    The descriptors may be a ``terminal`` of that kind, for this program only.  ``program`` has its environment,
    folder and limits.
    """

    name: ClassVar[str] = "exec"
    limit: ClassVar[float | None] = None
    by_hand: ClassVar[bool] = True
    route: ClassVar[Route] = Route.NODE
    descriptors: ClassVar[int] = 3

    node: str = word("h3, s0, '(1,1)', an IPv4 address; or several: 'h*', 'h[0-3]', h0,h3.", complete="nodes")
    words: tuple[str, ...] = word(
        "Program and arguments; names of servers become their addresses.", "COMMAND...", "nothing"
    )
    program: Program | None = field(default=None, metadata=OPTIONAL)
    terminal: str = field(default="", metadata=OPTIONAL)

    def perform(self, lab: LocalMachine, call: Call) -> Exit:
        from dcnlab.lab.running import execution

        if not self.words:
            raise UsageError("say what to run")
        version = next((v for v in (4, 6) if f"-{v}" in self.words), 0)
        argv = [self.words[0], *(execution.addressed(lab, word, version) for word in self.words[1:])]
        return execution.run(lab, call, self.node, argv, program=self.program, terminal=self.terminal)

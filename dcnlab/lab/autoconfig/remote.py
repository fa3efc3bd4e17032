"""A side on another machine: what the coordinator asks for, and what that machine answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from dcnlab.lab.autoconfig.side import Found, Side
from dcnlab.lab.errors import UsageError


class RemoteSide(Side):
    """The agents of a machine whose operations ``ask`` calls, and which runs these nodes."""

    def __init__(self, ask: Callable[..., Any], nodes: Collection[int], ahead: float) -> None:
        self._ask, self._nodes, self.ahead = ask, nodes, ahead

    def has(self, server: int) -> bool:
        return server in self._nodes

    def prepare(self) -> None:
        self._ask("configure", step="prepare")

    def begin(self, epoch: int) -> dict[str, Any]:
        return dict(self._ask("configure", step="begin", epoch=epoch))

    def finish(self) -> Found:
        return Found.from_json(self._ask("configure", step="finish"))


def answer(side: Side, request: Mapping[str, Any]) -> dict[str, Any]:
    """Take the step that a coordinator asks for."""
    step = request["step"]
    if step == "prepare":
        side.prepare()
        return {}
    if step == "begin":
        return side.begin(int(request["epoch"]))
    if step == "finish":
        return side.finish().to_json()
    raise UsageError(f"autoconfiguration has no step {step}")

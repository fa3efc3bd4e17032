"""One request to a lab."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.control import holders, runtime
from dcnlab.lab.control.rpc import Connection, Disconnected, Progress, StoppedError, Unanswered
from dcnlab.lab.errors import LabError

A = TypeVar("A")
#: Seconds within which a lab that is up answers.
_INFO_TIMEOUT = 2.0


def perform(lab: str, wanted: Operation[A], progress: Progress | None = None) -> A:
    """Have the lab of that name perform an operation, and return its answer."""
    with contextlib.closing(Connection(runtime.socket_path(lab))) as connection:
        return connection.perform(wanted, progress)


class Asking:
    """The base of all parts of :class:`dcnlab.lab.client.Lab`."""

    @property
    def path(self) -> Path:
        """The lab's control socket; UsageError before the lab is started."""
        raise NotImplementedError

    def perform(self, wanted: Operation[A], progress: Progress | None = None) -> A:
        """Have the lab perform an operation, also one of a ``--custom`` file, and return its answer."""
        with contextlib.closing(Connection(self.path)) as connection:
            return connection.perform(wanted, progress)

    def ask(self, op: str, progress: Progress | None = None, **arguments: Any) -> Any:
        """Call any operation of the control socket and return its JSON value; every operation also has a
        method with a result of its own class."""
        with contextlib.closing(Connection(self.path)) as connection:
            return connection.call(op, progress, **arguments)


def try_info(path: Path) -> Mapping[str, Any]:
    """The result of ``info``.  Of a lab that does not answer it is ``silent``: why (:func:`holders.phase`).

    Of one whose session is stopped it is ``stopped``, of one that answers with an error ``problem``: a line."""
    try:
        with contextlib.closing(Connection(path, _INFO_TIMEOUT)) as connection:
            return dict(connection.call("info"))
    except StoppedError as error:
        return {"stopped": str(error)}
    except Unanswered as error:
        return {"silent": holders.phase(error.guard)}
    except LabError as error:
        if isinstance(error, Disconnected) or not path.exists():
            return {"silent": holders.ENDING}
        return {"problem": str(error)}

"""Progress messages from worker processes that compile kernels.

All workers write to one pipe.  A message is shorter than the size that the system writes
atomically, so there is no lock that a worker could still hold when it is terminated.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

from addressing.jit import listen

#: Called with the name of the kernel that is being compiled, and with "" when none is.
Notify = Callable[[str], None]


def report_compilations(to: Connection) -> None:
    """In a worker: send a message at the start and end of every compilation."""
    listen(lambda kernel: to.send((os.getpid(), kernel)))


@contextmanager
def compile_notifications(context: BaseContext, notify: Notify | None) -> Iterator[Connection | None]:
    """The pipe end for the workers of ``context`` to call :func:`report_compilations` with.

    A thread calls ``notify`` for every message.  Yields None if ``notify`` is None.
    """
    if notify is None:
        yield None
        return
    reader, writer = context.Pipe(duplex=False)
    thread = threading.Thread(target=_forward, args=(reader, notify), daemon=True)
    thread.start()
    try:
        yield writer
    finally:
        writer.send(None)
        thread.join()
        reader.close()
        writer.close()


def _forward(reader: Connection, notify: Notify) -> None:
    """If several workers compile, notify of one kernel until it is done."""
    busy: dict[int, str] = {}
    while (message := reader.recv()) is not None:
        worker, kernel = message
        busy.pop(worker, None)
        if kernel:
            busy[worker] = kernel
        notify(next(iter(busy.values()), ""))

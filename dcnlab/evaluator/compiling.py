"""What worker processes compile, told to the process that waits for them.

Words go through one pipe that all workers write to: a message is shorter than what the system
writes as a whole, so there is no lock that a worker could take with it when it is ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

from addressing.jit import listen

#: Told the name of a kernel that is being compiled, and an empty one when none is any more.
Notify = Callable[[str], None]


def report_compilations(to: Connection) -> None:
    """In a worker: send word of every compilation from now on."""
    listen(lambda kernel: to.send((os.getpid(), kernel)))


@contextmanager
def compile_notifications(context: BaseContext, notify: Notify | None) -> Iterator[Connection | None]:
    """Where workers of ``context`` :func:`say` what they compile, for ``tell``, which a thread calls;
    None where nobody wants to know."""
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
    """Of several workers that compile, one is named until it is done."""
    busy: dict[int, str] = {}
    while (said := reader.recv()) is not None:
        worker, kernel = said
        busy.pop(worker, None)
        if kernel:
            busy[worker] = kernel
        notify(next(iter(busy.values()), ""))

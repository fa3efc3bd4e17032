"""The Dask cluster on which commands of the evaluator compute, with ``--dask``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from dcnlab.lab.errors import LabError, UsageError


@contextmanager
def executor(address: str) -> Iterator[Executor | None]:
    """The executor of a Dask scheduler, or None to use this machine.

    At ``tls://`` the key and certificate of ``dcnlab machines init`` are used.  What a worker has under way
    when it ends, another one does again.  UsageError when no scheduler answers, LabError when one task ends
    several workers.
    """
    if not address:
        yield None
        return
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise UsageError("--dask needs the package: pip install 'dcnlab[dask]'") from error
    security = None
    if address.startswith("tls:"):
        from dcnlab.lab.machines.certificates import Certificates

        security = Certificates.default().security()
    try:
        client = Client(address, timeout="10s", security=security)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}") from error
    with client:
        try:
            yield client.get_executor()
        except KilledWorker as error:
            raise LabError("--dask: a task ended several workers: maybe they have too little memory") from error


def workers(executor: Executor | None) -> int:
    """How many workers a scheduler has at present; at least one."""
    client = getattr(executor, "_client", None)
    return max(1, len(client.nthreads()) if client is not None else 1)

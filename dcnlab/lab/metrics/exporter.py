"""Metrics of a lab over HTTP, at a port of 127.0.0.1, until the lab ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError


@contextlib.contextmanager
def serving(lab: Lab, port: int) -> Iterator[int]:
    """Serve a lab's metrics meanwhile, at this port (0: any free one); the port.

    UsageError where prometheus_client is not installed, or the port is taken.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server

        from dcnlab.lab.metrics.collector import LabCollector
    except ImportError:
        raise UsageError("metrics need prometheus_client: pip install 'dcnlab[metrics]'") from None
    registry = CollectorRegistry()
    registry.register(LabCollector(lab))
    try:
        server, thread = start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise UsageError(f"port {port} of 127.0.0.1: {error.strerror}: choose another --port") from None
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

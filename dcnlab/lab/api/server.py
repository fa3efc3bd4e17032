"""Serves an application at a socket that listens."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from dcnlab.lab.api.stream import Broadcast


def run(application: ASGIApp, listener: socket.socket, *broadcasts: Broadcast) -> None:
    """Serve until Ctrl-C, then end all streams; raises KeyboardInterrupt."""
    config = uvicorn.Config(application, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    _Server(config, broadcasts).run(sockets=[listener])
    raise KeyboardInterrupt  # uvicorn swallows the Ctrl-C that ended it while it was idle


class _Server(uvicorn.Server):
    """Ends the streams when it ends; it waits for the end of all responses."""

    def __init__(self, config: uvicorn.Config, broadcasts: Sequence[Broadcast]) -> None:
        super().__init__(config)
        self._broadcasts = broadcasts

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the server."""
        for broadcast in self._broadcasts:
            broadcast.close()
        await super().shutdown(sockets)

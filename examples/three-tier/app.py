"""The application of examples/three-tier.yaml: each request adds 1 to a number in memcached."""

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATABASE = (sys.argv[1], 11211)


def count() -> str:
    """Add 1 to the number of requests, by memcached's text protocol."""
    with socket.create_connection(DATABASE, timeout=10) as connection:
        connection.sendall(b"add requests 0 0 1\r\n0\r\nincr requests 1\r\nquit\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    return answer.decode().split()[-1]


class Handler(BaseHTTPRequestHandler):
    """Answers every GET with the number."""

    def do_GET(self) -> None:
        body = f"request {count()}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


ThreadingHTTPServer(("", 8000), Handler).serve_forever()

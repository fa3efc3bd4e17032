"""Keys and certificates with which the machines of a lab and its user know each other, and where they are.

One key pair serves all: somebody who has the folder can run programs as the workers do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError

_CERTIFICATE, _KEY, _README = "cert.pem", "key.pem", "README"
_TEXT = """\
These files secure the Dask cluster of `dcnlab up --machines` with TLS.

A Dask scheduler and its workers run any code that is sent to them by somebody who has these two files.
Workers of labs run as root.  So keep the key as you keep a root password: copy the folder to the machines of
the cluster only, over ssh, with mode 0700, and delete it when you no longer need it.  Without the key
nobody gets further than the TLS handshake.  The VXLAN tunnels of labs have no encryption: somebody who can send
UDP packets to a machine in the name of another can put frames into a lab, but not reach the machines with them.

cert.pem   the certificate, which is its own authority; it is valid for a year
key.pem    the private key
"""


@dataclass(frozen=True)
class Certificates:
    """The folder with the certificate and the key."""

    folder: Path

    @classmethod
    def default(cls) -> Certificates:
        """Return those in the user's folder for settings, or in ``DCNLAB_MACHINES``."""
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return cls(Path(os.environ.get("DCNLAB_MACHINES") or Path(base, "dcnlab", "machines")))

    @property
    def certificate(self) -> Path:
        """The certificate of scheduler, workers and clients; its own authority."""
        return self.folder / _CERTIFICATE

    @property
    def key(self) -> Path:
        """The private key."""
        return self.folder / _KEY

    @property
    def options(self) -> list[str]:
        """The options of `dask scheduler` and `dask worker`."""
        return ["--tls-ca-file", str(self.certificate), "--tls-cert", str(self.certificate),
                "--tls-key", str(self.key)]  # fmt: skip

    def create(self) -> None:
        """Make a new key and its certificate; UsageError if there is one already, or Dask is missing."""
        if self.key.exists():
            raise UsageError(f"{self.key} exists: remove it, on all machines, if you want a new one")
        security = _security("temporary")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            self.certificate.write_text(security.tls_client_cert)
            descriptor = os.open(self.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(security.tls_client_key)
            (self.folder / _README).write_text(_TEXT)
        except OSError as error:
            raise UsageError(f"{self.folder}: {error.strerror}") from error

    def security(self) -> Any:
        """Dask's ``Security`` with these files; UsageError when they are missing."""
        for file in (self.certificate, self.key):
            if not os.access(file, os.R_OK):
                raise UsageError(
                    f"{file} is missing: `dcnlab machines init` makes it, or copy the folder of your cluster"
                )
        names = {"key": str(self.key), "cert": str(self.certificate)}
        roles = {
            f"tls_{role}_{what}": path
            for role in ("client", "scheduler", "worker")
            for what, path in names.items()
        }
        return _security(require_encryption=True, tls_ca_file=str(self.certificate), **roles)


def _security(kind: str = "", **words: Any) -> Any:
    """Dask's Security; UsageError when a library is missing."""
    try:
        from distributed.security import Security

        return Security.temporary() if kind == "temporary" else Security(**words)
    except ImportError as error:
        raise UsageError("labs on many machines need packages: pip install 'dcnlab[dask]'") from error

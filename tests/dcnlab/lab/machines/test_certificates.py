"""`dcnlab machines init`: a key that only its owner reads, and commands that Dask understands."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.machines.certificates import Certificates
from dcnlab.lab.options import scheduler_address
from tests.lab.terminal import DCNLAB


def test_the_key_is_the_owners_and_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    words = [*DCNLAB, "machines", "init", "--folder", str(folder), "--host", "10.0.0.1", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["folder"] == str(folder)
    assert answer["worker"].startswith("dask worker tls://10.0.0.1:8786 --no-nanny")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    assert "root password" in (folder / "README").read_text()
    again = subprocess.run(words, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists: remove it, on all machines" in again.stderr


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cert\.pem is missing: `dcnlab machines init` makes it"):
        Certificates(tmp_path).security()


def test_everything_is_encrypted(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path / "cluster")
    certificates.create()
    security = certificates.security()
    assert security.require_encryption
    for role in ("client", "scheduler", "worker"):
        assert security.get_connection_args(role)["ssl_context"] is not None


@pytest.mark.parametrize(
    "address", ["tls://h:8786", "tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786"]
)
def test_addresses_that_others_cannot_use_are_allowed(address: str) -> None:
    scheduler_address.check(address)


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://h:1", "tcp://0.0.0.0:8786"])
def test_plain_addresses_are_refused(address: str) -> None:
    with pytest.raises(OptionError, match="has no TLS"):
        scheduler_address.check(address)

"""tshark with a dissector in Lua, as an ordinary user: from 4.4 it ignores such scripts as root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Who runs it where the tests run as root.
NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder of nobody's, which pytest's are not for root."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def dissected(script: Path, capture: Path, *words: str) -> list[dict[str, Any]]:
    """The layers of each packet of a capture."""
    user: dict[str, Any] = {} if os.geteuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with open_folder() as folder:
        for file in (script, capture):
            (folder / file.name).touch(0o644)
            shutil.copyfile(file, folder / file.name)
        command = ["tshark", "-X", f"lua_script:{folder / script.name}", "-r", str(folder / capture.name)]
        done = subprocess.run(
            [*command, "-T", "json", "--no-duplicate-keys", *words],
            capture_output=True,
            check=False,
            text=True,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
            **user,
        )
    assert "Lua:" not in done.stderr, done.stderr
    return [packet["_source"]["layers"] for packet in json.loads(done.stdout)]

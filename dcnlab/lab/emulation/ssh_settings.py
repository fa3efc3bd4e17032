"""The machine's settings of ssh where a host has a user namespace: of an ordinary user's lab, or isolated.

``ssh`` ends at a file of ``/etc/ssh/ssh_config.d`` that is neither root's nor its user's.  Files of the
machine's root are nobody's there, so copies take their place.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from hostagent.linux.mounts import BIND, mount

_FOLDER = Path("/etc/ssh/ssh_config.d")
_OURS = Path("/run/ssh_config.d")
_READABLE = 0o644


def install(owner: int = 0, extra: Mapping[str, str] | None = None) -> None:
    """Cover the folder with copies of the user ``owner``, in this mount namespace; nothing if it is theirs.
    ``extra`` has the text of further files by their names.

    Raises OSError.
    """
    if not _FOLDER.is_dir() or (_FOLDER.stat().st_uid == owner and not extra):
        return
    for name, text in (extra or {}).items():
        _OURS.mkdir(exist_ok=True)
        (_OURS / name).write_text(text)
    _OURS.mkdir(exist_ok=True)
    if _FOLDER.samefile(_OURS):  # it is covered already
        return
    for path in _FOLDER.glob("*.conf"):
        with contextlib.suppress(OSError):  # a broken link, or a file that only root reads
            data = path.read_bytes()
            copy = _OURS / path.name
            copy.write_bytes(data)
            copy.chmod(_READABLE)
            os.chown(copy, owner, owner)
    mount(str(_OURS), str(_FOLDER), "", BIND)

"""The memory allocator of Open vSwitch's programs: jemalloc, where it is installed.

An ovs-vswitchd in user space keeps 32 empty buffers of 64 KB for each port.  The C library's allocator writes
its own records between them, so that each takes memory at once; jemalloc keeps such records elsewhere.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

#: The Debian package of the library, and the library's file.
PACKAGE, _NAME = "libjemalloc2", "libjemalloc.so.2"
#: Where distributions have it: Debian's family (beside that of other processors), Fedora's, Arch and Alpine,
#: and what an administrator built.
_FOLDERS = (f"/usr/lib/{platform.machine()}-linux-*", "/usr/lib64", "/usr/lib", "/usr/local/lib")
#: One pool for all threads of a daemon: nearly all is done by one of them.
_SETTINGS = "narenas:1"


def library() -> Path | None:
    """The file of jemalloc; None if it is not installed."""
    root = Path("/")
    return next((file for folder in _FOLDERS for file in root.glob(f"{folder[1:]}/{_NAME}")), None)


def environment() -> dict[str, str]:
    """The environment variables with which a program uses it; none if it is not installed."""
    if (file := library()) is None:
        return {}
    loaded = [str(file), *filter(None, [os.environ.get("LD_PRELOAD")])]
    return {"LD_PRELOAD": ":".join(loaded), "MALLOC_CONF": os.environ.get("MALLOC_CONF", _SETTINGS)}

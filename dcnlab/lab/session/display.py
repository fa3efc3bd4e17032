"""Whether programs in a lab, which has its own network, can open windows."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path

_DISPLAY = re.compile(r"(?P<host>[^:]*):(?P<number>\d{1,4})(\.\d+)?")
_FIRST_PORT = 6000
_TIMEOUT = 1.0
_GROUPS = Path("/proc/self/gid_map")


def display_error(program: str, display: str) -> str:
    """Why ``program`` cannot open a window on ``display`` (the value of DISPLAY), in one line; empty if
    it can."""
    if not display:
        return f"{program} needs a display and DISPLAY is not set: `NODE COMMAND` and `dcnlab exec` need none"
    if shutil.which(program) is None:
        return f"{program} is not installed: apt-get install {program}"
    if display.startswith((":", "unix:")) and shutil.which("xhost") is None:
        return f"{program} needs xhost to open windows on {display}: apt-get install x11-xserver-utils"
    match = _DISPLAY.fullmatch(display)
    if match is None:
        return f"DISPLAY={display} is not a display: write it as in :0"
    if not _answers(match["host"], int(match["number"])):
        return (
            f"no display answers at {display} from inside the lab: it reaches displays of this machine,"
            " such as :0, but none that ssh -X forwards"
        )
    return ""


def rights_error(program: str, node: str) -> str:
    """Why ``program`` opens no window in an ordinary user's lab, which knows one group; empty if it does."""
    ((_, _, groups),) = [line.split() for line in _GROUPS.read_text().splitlines()][:1]
    if program != "xterm" or groups != "1":
        return ""
    return f"xterm needs a lab of root, whose terminals get the group tty: use `dcnlab exec LAB {node}`"


def _answers(host: str, number: int) -> bool:
    """Whether a display listens: at a socket in the file system if there is no host."""
    local = host in ("", "unix")
    family = socket.AF_UNIX if local else socket.AF_INET
    address: str | tuple[str, int] = f"/tmp/.X11-unix/X{number}" if local else (host, _FIRST_PORT + number)
    with socket.socket(family) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect(address)
        except OSError:
            return False
    return True

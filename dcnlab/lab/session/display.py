"""Whether windows can be opened from inside a lab, which has a network of its own."""

from __future__ import annotations

import re
import shutil
import socket

_DISPLAY = re.compile(r"(?P<host>[^:]*):(?P<number>\d{1,4})(\.\d+)?")
_FIRST_PORT = 6000
_TIMEOUT = 1.0


def display_error(program: str, display: str) -> str:
    """One line that says why no window of ``program`` can be opened on ``display``, as the variable
    DISPLAY has it; empty when it can."""
    if not display:
        return f"{program} needs a display and DISPLAY is not set: `NODE COMMAND` and `dcnlab exec` need none"
    if shutil.which(program) is None:
        return f"there is no {program} on this machine: install it (apt-get install {program})"
    if display.startswith((":", "unix:")) and shutil.which("xhost") is None:
        return f"{program} needs xhost to open windows on {display}: apt-get install x11-xserver-utils"
    found = _DISPLAY.fullmatch(display)
    if found is None:
        return f"DISPLAY={display} is no display: one is written as in :0"
    if not _answers(found["host"], int(found["number"])):
        return (
            f"no display answers at {display} from inside the lab: only this machine's own, such as :0,"
            " can be reached, none forwarded by ssh -X"
        )
    return ""


def _answers(host: str, number: int) -> bool:
    """Whether somebody listens there: without a host at a socket in the file system."""
    local = host in ("", "unix")
    family = socket.AF_UNIX if local else socket.AF_INET
    place: str | tuple[str, int] = f"/tmp/.X11-unix/X{number}" if local else (host, _FIRST_PORT + number)
    with socket.socket(family) as probe:
        probe.settimeout(_TIMEOUT)
        try:
            probe.connect(place)
        except OSError:
            return False
    return True

"""Has every Python process below a test note which files of a walk it enters, and by which others it got there.

Python imports it by its name where ``PYTHONPATH`` has this folder.  ``WALK`` has its files, the root
of the repository, and the file for the notes.
"""

import json
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

_walk, _root, _notes = json.loads(os.environ["WALK"])
_walk = frozenset(_walk)
_descriptor = os.open(_notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
os.set_inheritable(_descriptor, False)


def _note(frame: FrameType, event: str, _: Any) -> None:
    """Write when a function of the walk is entered, with the files of its callers, the nearest first."""
    if event == "call" and frame.f_code.co_filename in _walk and frame.f_code.co_name != "<module>":
        callers, above = [], frame.f_back
        while above is not None:
            if above.f_code.co_filename.startswith(_root):
                callers.append(above.f_code.co_filename.removeprefix(_root))
            above = above.f_back
        line = [time.monotonic(), frame.f_code.co_filename.removeprefix(_root), callers]
        os.write(_descriptor, json.dumps(line).encode() + b"\n")


threading.setprofile(_note)
sys.setprofile(_note)

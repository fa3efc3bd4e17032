"""Wakes ovs-vswitchds while they connect to a controller.

The main loop of Open vSwitch 3 does not wait for a connection that it makes (`ofservice_wait` in
ofproto/connmgr.c): it reads the controller's first message when something else wakes it, up to half a second
later.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence

from dcnlab.lab.emulation.switches import appctl, openvswitch
from dcnlab.lab.emulation.switches.shards import Shard

#: The shortest pause between two times, in seconds.
_PAUSE = 0.01
#: Longer pauses are this share of the time that it has taken so far: a large lab is not woken all the time.
_SHARE = 0.1


@contextlib.contextmanager
def woken(shards: Sequence[Shard]) -> Iterator[None]:
    """Wake the daemons of these shards again and again while the body runs.

    Not where there are more of them than processors: their loops run all the time then, and the controller
    listens before they connect.
    """
    if not openvswitch.starts_early(shards):
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_wake, args=(shards, ended), name="waking", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _wake(shards: Sequence[Shard], ended: threading.Event) -> None:
    rundirs, begun = [shard.rundir for shard in shards], time.monotonic()
    while not ended.wait(max(_PAUSE, _SHARE * (time.monotonic() - begun))):
        appctl.wake(rundirs)

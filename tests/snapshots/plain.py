"""Values as they are in every run and on every machine."""

from __future__ import annotations

from typing import Any

#: Counts that depend on what else happens.
_COUNTED = frozenset(
    {
        "packets", "bytes", "dropped", "packet_ins", "arp_replies", "ignored", "by_kernel", "command",
        "measurement", "pid", "revision",
    }
)  # fmt: skip
#: What depends on the kernel, and on who launches the lab.
_OF_THE_MACHINE = frozenset({"by", "receive_buffers", "verdict", "version"})
#: Counters of what may or may not have happened: drops, and the frame that the lab sends by a switch daemon
#: that has sent none before.
_AT_TIMES = ("dropped: ", "ignored: not IP")


def plain(value: Any, key: str = "", counting: bool = False) -> Any:
    """A JSON value: each fraction is 0.5, each counter 1; with ``counting`` each integer is a counter."""
    if key in _OF_THE_MACHINE:
        return "as the machine can"
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if not name.startswith(_AT_TIMES)}
        return {name: plain(item, name, counting) for name, item in kept.items()}
    if isinstance(value, list):
        return [plain(item, key, counting) for item in value]
    if isinstance(value, float):
        return 0.5
    counted = (counting or key in _COUNTED) and isinstance(value, int) and not isinstance(value, bool)
    return 1 if counted else value

"""``dcnlab mn-file``: the file that stock Mininet loads."""

from __future__ import annotations

from importlib.util import find_spec

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json


@command(
    "dcnlab mn-file",
    "dcnlab mn-file --json",
)
def mn_file(json: JsonFlag = False) -> None:
    """Print the path of the file for stock Mininet's `mn --custom FILE` (docs/mininet.md)."""
    module = find_spec("dcnlab.mn")
    assert module is not None
    if json:
        print_json({"file": module.origin})
    else:
        print(module.origin)

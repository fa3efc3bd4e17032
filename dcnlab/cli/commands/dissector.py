"""``dcnlab dissector``: a Wireshark dissector for AACM."""

from __future__ import annotations

from dcnlab.cli.app import command


@command("dcnlab dissector > ~/.local/lib/wireshark/plugins/dcnlab.lua")
def dissector() -> None:
    """Print a Wireshark dissector (Lua) for AACM frames."""
    from dcnlab.lab.autoconfig.dissector import lua

    print(lua(), end="")

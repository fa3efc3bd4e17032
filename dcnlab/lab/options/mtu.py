"""The MTU of links, relays and hosts."""

from __future__ import annotations

from dcnlab.lab.errors import OptionError

#: Without an option; the least, which IPv6 needs; and the most, that of jumbo frames.
MTU, MIN_MTU, MAX_MTU = 1500, 1280, 9216
#: Bytes that VXLAN adds to a frame's payload: Ethernet, VXLAN, UDP and an outer IP header, of version 4 or 6.
OVERHEAD = {4: 50, 6: 70}


def over(underlay: int, version: int, wanted: int) -> int:
    """The MTU of links over an underlay with this MTU and this version of IP: at most what fits into it.

    OptionError, in one line, where more than usual is wanted and does not fit.
    """
    fitting = underlay - OVERHEAD[version]
    if wanted > max(MTU, fitting):
        text = f"mtu {wanted} does not fit into the network between the machines: there is room for {fitting}"
        raise OptionError("mtu", text)
    return min(wanted, fitting)

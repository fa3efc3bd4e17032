"""Teaches a controller of your own: compact tables in a fat tree, with one entry up to all hosts elsewhere."""

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

from dcnlab import fabric

FABRIC = fabric("fattree:4")
ARP, IPV4 = 0x0806, 0x0800
GROUP_UP = 1


def below(switch: int) -> dict[int, int]:
    """The hosts below a switch, and the port that leads to each; switches are numbered from the edge up."""
    ports: dict[int, int] = {}
    for port, peer in FABRIC.ports(switch):
        if FABRIC.is_server(peer.node):
            ports[peer.node] = port
        elif peer.node < switch:
            ports |= dict.fromkeys(below(peer.node), port)
    return ports


class CompactTable(OSKenApp):  # type: ignore[misc]
    """Hosts below by their addresses; everything else up, by any port that works."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event: Any) -> None:
        """A switch has connected: datapath 1 is s0."""
        path, ofp = event.msg.datapath, event.msg.datapath.ofproto
        switch = FABRIC.servers + path.id - 1
        up = [port for port, peer in FABRIC.ports(switch) if peer.node > switch]
        self.add(path, 3, {"eth_type": ARP}, ofp.OFPP_FLOOD)
        for host, port in below(switch).items():
            self.add(path, 2, {"eth_type": IPV4, "ipv4_dst": f"10.0.0.{host + 1}"}, port)
        if up:
            self.add_group(path, up)
            self.add(path, 1, {"eth_type": IPV4}, None)

    def add(self, path: Any, priority: int, match: dict[str, Any], port: int | None) -> None:
        """Add an entry that sends to a port, or to the group of the ports up."""
        ofp, parser = path.ofproto, path.ofproto_parser
        action = parser.OFPActionGroup(GROUP_UP) if port is None else parser.OFPActionOutput(port)
        apply = parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [action])
        flow = parser.OFPFlowMod(path, priority=priority, match=parser.OFPMatch(**match), instructions=[apply])
        path.send_msg(flow)

    def add_group(self, path: Any, ports: list[int]) -> None:
        """Spread flows over ports; Open vSwitch passes over a bucket whose port is down."""
        ofp, parser = path.ofproto, path.ofproto_parser
        buckets = [parser.OFPBucket(1, port, ofp.OFPG_ANY, [parser.OFPActionOutput(port)]) for port in ports]
        path.send_msg(parser.OFPGroupMod(path, ofp.OFPGC_ADD, ofp.OFPGT_SELECT, GROUP_UP, buckets))

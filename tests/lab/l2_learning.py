"""A learning switch for os-ken: the first packets of every pair pass through the controller."""

from __future__ import annotations

from typing import Any

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class Learning(app_manager.OSKenApp):  # type: ignore[misc]
    """Learns source addresses; floods what it does not know."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *names: Any, **contexts: Any) -> None:
        super().__init__(*names, **contexts)
        self._ports: dict[tuple[int, str], int] = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def connected(self, event: Any) -> None:
        """Send everything to the controller."""
        self._add(event.msg.datapath, 0, {}, ofproto_v1_3.OFPP_CONTROLLER)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def arrived(self, event: Any) -> None:
        """Learn the source, install an entry for a known destination, and send the packet on."""
        message, datapath = event.msg, event.msg.datapath
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        port = message.match["in_port"]
        self._ports[datapath.id, frame.src] = port
        out = self._ports.get((datapath.id, frame.dst), ofproto_v1_3.OFPP_FLOOD)
        if out != ofproto_v1_3.OFPP_FLOOD:
            self._add(datapath, 1, {"eth_dst": frame.dst}, out)
        parser = datapath.ofproto_parser
        actions = [parser.OFPActionOutput(out)]
        datapath.send_msg(
            parser.OFPPacketOut(datapath, ofproto_v1_3.OFP_NO_BUFFER, port, actions, message.data)
        )

    def _add(self, datapath: Any, priority: int, match: dict[str, Any], out: int) -> None:
        parser = datapath.ofproto_parser
        actions = [parser.OFPActionOutput(out)]
        apply = [parser.OFPInstructionActions(ofproto_v1_3.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(datapath, priority=priority, match=parser.OFPMatch(**match), instructions=apply)
        )

"""An Open vSwitch switch of stock Mininet that counts as connected when its table is installed."""

from __future__ import annotations

from typing import Any

from mininet.node import Node, OVSSwitch

from dcnlab.lab.emulation.switches.openvswitch import kernel_datapath
from dcnlab.lab.mininet.controller import SchemeController


class SchemeSwitch(OVSSwitch):  # type: ignore[misc]
    """Mininet's ``OVSSwitch`` with OpenFlow 1.3, and the userspace datapath where the kernel has none.

    ``waitConnected`` then waits for tables, also where hosts are Mininet's own.
    """

    protocols: str | None

    def __init__(self, name: str, datapath: str | None = None, **params: Any) -> None:
        chosen = datapath or ("kernel" if kernel_datapath() else "user")
        self._schemes: list[SchemeController] = []
        super().__init__(name, **{"protocols": "OpenFlow13", **params, "datapath": chosen})

    def start(self, controllers: list[Node]) -> None:
        """As Mininet's; a scheme's controller gives groups their hash basis by OpenFlow 1.5."""
        self._schemes = [each for each in controllers if isinstance(each, SchemeController)]
        if self._schemes and self.protocols == "OpenFlow13":
            self.protocols = "OpenFlow13,OpenFlow15"
        super().start(controllers)

    def connected(self) -> bool:
        """Whether the switch is connected, and all tables are installed."""
        if not super().connected():
            return False
        for controller in self._schemes:
            controller.wait_ready()
        return True

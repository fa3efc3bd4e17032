"""A Mininet host whose agent relays packets."""

from __future__ import annotations

import os
from typing import Any

from mininet.link import Intf
from mininet.node import Host

from dcnlab.lab.mininet.cpu_share import CpuShare
from dcnlab.lab.mininet.topo import FabricTopo
from hostagent.runtime.devices import TUN_NAME


class RelayHost(Host):  # type: ignore[misc]
    """A host of a :class:`FabricTopo`.

    Where servers relay, the agent that :class:`~dcnlab.lab.mininet.controller.SchemeController` starts in
    its namespace moves its packets, and its address belongs to the agent's device.  Elsewhere, and without
    that controller, it is Mininet's ``Host``.

    Parameters besides those of ``Host``: ``cpu``, a fraction of all processors as in ``CPULimitedHost``, and
    ``cores``, the processors that its programs may use, such as ``0`` or ``0,2``; both by cgroup v2.
    """

    def __init__(self, name: str, fabric: FabricTopo | None = None, **params: Any) -> None:
        self.topo = fabric
        #: Called before the first command once the agents run; waits for the tables.
        self.wait_ready: Any = None
        self._share: CpuShare | None = None
        super().__init__(name, **params)
        if fabric is not None:
            fabric.relays[name] = self

    @property
    def relaying(self) -> bool:
        """Whether an agent moves this host's packets."""
        return self.topo is not None and self.topo.scheme is not None and self.topo.fabric.relaying

    def config(self, cpu: float | None = None, cores: object = None, **params: Any) -> dict[str, Any]:
        """As Mininet's; a relay's interfaces get no address, and its kernel does not forward."""
        if cpu is not None or cores is not None:
            wanted = {"cpu": cpu, "cpuset": cores}
            needed = [name for name, value in wanted.items() if value is not None]
            self._share = CpuShare(f"{self.name}-{self.pid}", needed)
            self._share.limit(cpu, cores)
            self._share.add(self.pid)
        if not self.relaying:
            return dict(super().config(**params))
        self.cmd("sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0")
        return dict(super().config(**{**params, "ip": None, "mac": None}))

    def add_agent_device(self) -> None:
        """Make the agent's device, which exists, the default interface, so that ``IP`` and the CLI show it."""
        device = Intf(TUN_NAME, node=self, port=0, moveIntfFn=lambda *_: None)
        device.ip, device.prefixLen = self.params["ip"].split("/")

    def IP(self, intf: Any = None) -> str | None:
        """As Mininet's; of a relay the address that its scheme gives it."""
        if intf is None and self.relaying:
            return str(self.params["ip"]).partition("/")[0]
        address: str | None = super().IP(intf)
        return address

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:
        """Do as Mininet's does, once the tables are installed."""
        self._await_tables()
        super().sendCmd(*args, **kwargs)

    def popen(self, *args: Any, **kwargs: Any) -> Any:
        """Do as Mininet's does, once the tables are installed, in this host's share of the processors."""
        self._await_tables()
        os.environ.setdefault("SHELL", "/bin/sh")  # Mininet reads it for shell=True; cron and CI do not set it
        if self._share is not None:
            kwargs.setdefault("mncmd", self._share.command(["mnexec", "-da", str(self.pid)]))
        return super().popen(*args, **kwargs)

    def cleanup(self) -> None:
        """As Mininet's; removes the share of the processors."""
        super().cleanup()
        if self._share is not None:
            self._share.remove()

    def _await_tables(self) -> None:
        if (wait := self.wait_ready) is not None:
            self.wait_ready = None
            wait()

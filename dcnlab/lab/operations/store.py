"""The store of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.keys import StorePlace
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Store(Operation[StorePlace]):
    """Start the store of a server, for servers of other machines."""

    name: ClassVar[str] = "store"
    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "server"
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    server: str

    def perform(self, lab: LocalMachine, call: Call) -> StorePlace:
        from dcnlab.lab.kv import store, stores

        server = lab.server(self.server)
        lab.own(stores.Stores).start(server)
        return StorePlace(lab.address(server), store.PORT)

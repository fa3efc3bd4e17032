"""The options of ``Lab(...)`` for type checkers and editors.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import Literal, TypedDict


class LabArguments(TypedDict, total=False):
    """The options of ``dcnlab up``, as keyword arguments: ``dcnlab up --help`` says what each means."""

    agents: Literal["auto", "host", "workers"]
    load_balance: Literal["flow", "packet", "probe"]
    link_state: Literal["lab", "agents"]
    flow_control: Literal["none", "credits"]
    buffers: int
    virtual_channels: str
    autoconfigure: bool
    offloads: bool
    fast_path: Literal["off", "on", "auto"]
    addresses: str
    broadcast: bool
    seed: int
    controller: str
    controller_ca: str
    controller_cert: str
    controller_key: str
    rest_port: int
    no_loops: bool
    backend: Literal["os-ken", "ryu"]
    datapath: Literal["auto", "kernel", "userspace"]
    switch_fast_path: Literal["off", "on", "auto"]
    update_order: Literal["fast", "loop-free"]
    multipath: int | None
    supervise: bool
    isolate: bool
    image: str
    delay: str
    loss: str
    rate: str
    mtu: int
    link_attributes: bool
    ssh: bool
    nat: bool
    expose: str
    sflow: str
    ipfix: str
    sampling: int
    machines: str
    placement: str
    miswire: str

"""The checks of a lab's options that need no machine: OptionError, in one line."""

from __future__ import annotations

from addressing import unrouted
from addressing.fields.ipv4 import AddressError
from addressing.header import Field
from addressing.scheme import LabelTooWide, Scheme
from addressing.source import SourceRouted
from controller import phases
from dcnlab.lab import naming
from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.options import exposure, images, scheduler_address
from dcnlab.lab.options.miswiring import swapped_ports
from dcnlab.lab.options.stated import StatedOptions
from hostagent import further_addresses

#: So many plain hosts know each other's hardware addresses from the start; others ask the controller.
_MOST_KNOWN = 512


def _check_packets(config: StatedOptions, scheme: Scheme) -> None:
    """Labels and addresses fit into packets."""
    try:
        scheme.check_width()
        for node in range(scheme.fabric.servers):
            scheme.ipv4(node)
    except (LabelTooWide, AddressError) as error:
        raise OptionError("scheme", str(error)) from error


def _check_autoconfiguration(config: StatedOptions, scheme: Scheme) -> None:
    """Servers without addresses can get them; AACM runs where links are swapped, at ports that exist."""
    if config.autoconfigure and not scheme.autoconfiguration().protocol:
        raise OptionError("autoconfigure", scheme.autoconfiguration().reason)
    if config.miswire and not config.autoconfigure:
        raise OptionError("miswire", "miswire needs autoconfigure: only AACM finds swapped cables")
    if config.miswire and scheme.autoconfiguration().protocol != "AACM":
        raise OptionError(
            "miswire", f"miswire needs AACM, and servers under {scheme.name} learn labels instead"
        )
    swapped_ports(scheme.fabric, config.miswire)


def _check_link_state(config: StatedOptions, scheme: Scheme) -> None:
    """Agents that exchange link state exist."""
    if config.link_state == "agents" and not scheme.fabric.relaying:
        raise OptionError(
            "link_state", f"the servers of {scheme.fabric.spec} relay nothing, so no agents exchange link state"
        )


def _check_load_balance(config: StatedOptions, scheme: Scheme) -> None:
    """There are parallel paths to probe."""
    if config.load_balance == "probe" and not (isinstance(scheme, SourceRouted) and scheme.max_paths != 1):
        raise OptionError(
            "load_balance",
            f"{scheme.name} has no parallel paths to probe: use scheme brp with multipath 2, for one",
        )


def _check_buffers(config: StatedOptions, scheme: Scheme) -> None:
    """Relays can have these buffers and this flow control."""
    credits = config.flow_control == "credits"
    if config.virtual_channels != "escape" and not credits:
        raise OptionError("virtual_channels", "virtual channels have credits: set flow_control credits")
    if not config.frames:
        return
    from hostagent.flowcontrol import relay, virtual_channels  # few labs have buffers

    try:
        virtual_channels.read(config.virtual_channels, scheme.fabric)
    except virtual_channels.FlowControlError as error:
        raise OptionError("virtual_channels", str(error)) from error
    if not credits and not config.rate:
        raise OptionError("buffers", "buffers fill up where links have a bandwidth: set rate, such as 4Mbit")
    try:
        relay.check(scheme, config.frames, credits, config.virtual_channels)
    except relay.FlowControlError as error:
        raise OptionError("flow_control" if credits else "buffers", str(error)) from error


def _check_fast_path(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless agents forward, and packets need not wait in them."""
    if config.fast_path != "on":
        return
    if not scheme.fabric.relaying:
        raise OptionError("fast_path", f"the servers of {scheme.fabric.spec} relay nothing: no agent forwards")
    if config.frames:
        raise OptionError("fast_path", "packets wait in the agents' buffers: set fast_path auto or off")


def _check_controller(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless there are switches to control, applications to read and files for TLS."""
    choice = config.choice()
    if config.routed and choice.tables:
        raise OptionError(
            "controller", f"scheme none has no tables: use app-only:... in place of {choice.text}"
        )
    if choice.kind != "ours" and not scheme.fabric.switches and not config.routed:
        raise OptionError("controller", f"{scheme.fabric.spec} has no switches for a controller")
    for name in ("controller_ca", "controller_cert", "controller_key"):
        if choice.tls and not getattr(config, name):
            raise OptionError(name, f"{choice.text} needs {name}: a file in PEM format")
        if getattr(config, name) and not choice.tls:
            raise OptionError(name, f"{name} is for controller ssl:HOST:PORT")
    if config.rest_port and choice.kind != "app":
        raise OptionError("rest_port", "rest_port is for controller app:... and app-only:...")
    if config.no_loops and choice.kind == "ours":
        raise OptionError("no_loops", "no_loops is for other controllers: ours floods nothing")
    choice.library(config.backend)


def _check_broadcast(config: StatedOptions, scheme: Scheme) -> None:
    """Relays read labels in MAC addresses and hold no frames back; elsewhere our controller has the tables."""
    if not config.broadcast:
        return
    if scheme.fabric.relaying and scheme.label_field is not Field.ETH_DST:
        text = f"{scheme.name} has its labels in IP addresses, which groups have none of"
        raise OptionError("broadcast", f"broadcast: {text}: choose a scheme with labels in MAC addresses")
    if scheme.fabric.relaying and (config.frames or config.flow_control == "credits"):
        raise OptionError("broadcast", "broadcast: relays with limited buffers carry no copies for groups")
    if scheme.fabric.relaying and not config.routed:
        return
    if config.routed or not config.choice().tables:
        raise OptionError("broadcast", "broadcast is for our controller: others flood as they decide")


def _check_outside(config: StatedOptions, scheme: Scheme) -> None:
    """Exposed ports are of servers; NAT does not depend on addresses that change."""
    for exposed in exposure.parse(config.expose):
        _check_server("expose", exposed.server, scheme)
    if config.nat and config.autoconfigure:
        raise OptionError(
            "nat", "nat needs servers that have their addresses from the start: not autoconfigure"
        )


def _check_server(option: str, server: str, scheme: Scheme) -> None:
    try:
        naming.server(scheme.fabric, server, scheme)
    except UsageError as error:
        raise OptionError(option, f"{option}: {error}") from error


def _check_addresses(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless hosts can have the further addresses, and others find them."""
    if not config.addresses:
        return
    if isinstance(scheme, unrouted.Unrouted):
        raise OptionError("addresses", "addresses: scheme none leaves addresses to programs in the nodes")
    if not scheme.fabric.relaying and scheme.fabric.servers > _MOST_KNOWN:
        text = f"addresses: hosts know each other's addresses in labs of {_MOST_KNOWN} hosts at most"
        raise OptionError("addresses", text)
    try:
        further_addresses.parse(config.addresses, scheme)
    except further_addresses.FurtherAddressError as error:
        raise OptionError("addresses", f"addresses: {error}") from error


def _check_ssh(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless all hosts see the keys of the lab."""
    for option in ("isolate", "image", "machines"):
        if config.ssh and getattr(config, option):
            raise OptionError("ssh", f"ssh shares keys in a folder that all hosts see: leave out {option}")


def _check_image(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless images are of servers: only their programs can be given a root."""
    images.check(config.image, map(scheme.fabric.name, range(scheme.fabric.servers)))


def _check_collectors(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless collectors are in servers, and switches see all packets."""
    for collector in config.collectors():
        option = collector.protocol
        if not scheme.fabric.switches:
            raise OptionError(option, f"{scheme.fabric.spec} has no switches, which could send {option}")
        _check_server(option, collector.server, scheme)
        if config.switch_fast_path == "on":
            text = f"{option} does not see what the kernel forwards for switches: leave out switch_fast_path"
            raise OptionError(option, text)


def _check_update_order(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError unless the lab tells all nodes of failures, and an order or phases avoid loops."""
    if config.update_order == "fast":
        return
    if not scheme.ordered_by_distance and not phases.room(scheme):
        text = f"no order of nodes is known in which no packet of {scheme.name} loops"
        if scheme.fabric.relaying:
            text += ", and an agent has one rule at a time: it cannot tell packets of two by a number"
        else:
            text += ", and its labels leave no room for the number of an update"
    elif config.machines:
        text = "each machine of a lab follows by itself"
    elif config.link_state == "agents":
        text = "agents learn of failures from each other, and not from the lab"
    elif not config.choice().tables and scheme.fabric.switches:
        text = "another controller fills the tables"
    else:
        return
    raise OptionError("update_order", f"update_order loop-free: {text}; leave it out")


def _check_machines(config: StatedOptions, scheme: Scheme) -> None:
    """Raise OptionError if others can use the scheduler, or parts cannot have what the lab is to have."""
    if not config.machines:
        if config.placement:
            raise OptionError("placement", "placement needs machines: the address of a Dask scheduler")
        return
    scheduler_address.check(config.machines)
    choice = config.choice()
    there = scheduler_address.beside(config.machines)
    if any(scheduler_address.is_loopback(host) for host, _ in choice.remotes) and not there:
        text = "the switches of every machine connect to it: use an address that all machines reach"
        raise OptionError("controller", f"controller {choice.text}: {text}")
    if config.rest_port:
        raise OptionError("rest_port", "rest_port needs a lab on one machine, without machines")


#: All of them, in the order in which they are made.
CHECKS = (
    _check_machines,
    _check_controller,
    _check_broadcast,
    _check_packets,
    _check_autoconfiguration,
    _check_link_state,
    _check_load_balance,
    _check_buffers,
    _check_fast_path,
    _check_outside,
    _check_image,
    _check_ssh,
    _check_addresses,
    _check_collectors,
    _check_update_order,
)

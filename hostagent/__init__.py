"""The agent in every relaying server: it forwards packets in user space by the scheme's rule.

Each server's network namespace has a TUN device ``dcn0`` with the server's IPv4 and IPv6 addresses and
its routes, and interfaces without addresses, ARP or IPv6.  The agent moves packets between them.  A packet from
``dcn0`` gets the header that the scheme prescribes at the source.  A packet from an interface is relayed, with
the TTL decremented, or delivered.  If the scheme has no path, or the TTL expires, the agent answers by ICMP
as any router does.

    forwarding/       pure: packets, frames, forwarding decisions
    fastpath/         the kernel carries out what agents have decided (eBPF)
    control/          pure: the interface, codec and authentication of control protocols
    protocols/        pure: the control protocols: AACM, labelling, link state, path probing
    flowcontrol/      pure: finite buffers and credits
    runtime/          the edge: processes, packet sockets, TUN devices
    linux/            what Linux offers and Python does not: netlink, bpf, namespaces, child processes
    state_machine.py  the interface of everything that handles frames without I/O
    virtual.py        nodes and links in memory, with a virtual clock: protocols run offline on it
    registry.py       control protocols by name
    options.py        what agents are started with
    further_addresses.py  further addresses of hosts, such as a service's
    reported.py       what agents have reported, by event
    client.py         AgentPool: the lab's side of the control channel

``python -m hostagent`` is the supervisor, which forks the agents.

TCP super-packets, and packets whose checksum is still to be computed, cross an agent as they are: the
kernel's virtio-net header travels with each packet in memory.

The control channel carries these orders:

    {"op": "start", "agents": [{"node": 0, "netns": "/run/netns/h0", "ports": {"1": "h0-eth1"}}]}
    {"op": "restart", "agents": [...]}                     as start, for agents that have ended
    {"op": "links", "down": [3, 17], "serial": 1}          all links that are down, by number
    {"op": "stats", "serial": 2}
    {"op": "buffers", "serial": 5}
    {"op": "load_balance", "value": "packet"}              or "flow"
    {"op": "pin", "paths": [[0, 12, 15]], "serial": 3}     packets from server 0 to 15 take this path
    {"op": "enable", "protocol": "aacm", "arguments": {"dimensions": 2}, "serial": 4}
    {"op": "initiate", "protocol": "aacm", "node": 0, "arguments": {"sizes": [4, 4], "epoch": 1}}

and events:

    {"event": "ready", "node": 0, "pid": 70} ... {"event": "ready"}   the last one: all agents of the order
    {"event": "stopped", "nodes": [3], "hangs": false}      by SIGSTOP, or it hangs
    {"event": "continued", "nodes": [3]}                    by SIGCONT, or it went on after all
    {"event": "links-applied", "count": 16, "serial": 1}           by so many agents
    {"event": "stats", "agents": {"0": {"relayed": 5, ...}}, "serial": 2}
    {"event": "buffers", "agents": {"0": [[1, 4, 0, 2, 3, 10], ...]}, "serial": 5}    (Relay.levels)
    {"event": "pinned", "count": 16, "serial": 3}
    {"event": "enabled", "count": 16, "serial": 4}
    {"event": "link", "node": 3, "port": 2, "up": false}           an interface lost its carrier
    {"event": "learned", "node": 5, "down": [17]}                  link state: the links that it knows are down
    {"event": "configured", "node": 5, "address": [1, 1]}          AACM: the server has its address
    {"event": "outcome", "success": true, "ms": 3.1, ...}          AACM: the origin's conclusion
    {"event": "labelled", "node": 5, "label": [[1, 2], 6, 4], "at": 12.5}    word, prefix, its bits, time
    {"event": "failed", "node": 3, "error": "..."}                 the agent has ended
"""

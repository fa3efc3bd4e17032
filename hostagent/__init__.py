"""The agent in every relaying server: it forwards packets in user space by the scheme's rule.

Each server's network namespace has a TUN device ``dcn0`` with the server's IPv4 address
and the default route, and interface cards without addresses, ARP or IPv6.  The agent
moves packets between them: from ``dcn0`` it gives packets the header that the scheme's
source writes; from a card it relays (TTL less one) or delivers; where the scheme knows
no way, or a TTL ends, it answers by ICMP as any router does.

    forwarding/   pure: packets, frames, decisions
    protocols/    pure: what agents say to each other: AACM, labelling, link state, path probing
    flowcontrol/  pure: finite buffers and credits
    runtime/      the edge: processes, packet sockets, TUN devices, netlink
    virtual.py    nodes and links in memory, with a virtual clock: protocols run offline on it
    options.py    what an agent is started with
    channel.py    the control channel: one JSON object per line
    client.py     AgentPool: the lab's side of that channel

``python -m hostagent`` is the supervisor, which forks the agents.

Whole TCP super-packets and packets whose checksum is still to be computed cross an
agent as they are: the kernel's virtio-net header travels with each packet in memory.

The control socket carries one JSON object per line.  Orders:

    {"op": "start", "agents": [{"node": 0, "netns": "/run/netns/h0", "ports": {"1": "h0-eth1"}}]}
    {"op": "links", "down": [3, 17], "serial": 1}     all links that are down, by number
    {"op": "stats", "serial": 2}
    {"op": "spread", "value": "packet"}               or "flow"
    {"op": "listen", "dimensions": 2, "serial": 3}      take part in AACM
    {"op": "pin", "ways": [[0, 12, 15]], "serial": 4}       packets from server 0 to 15 go by 12
    {"op": "learn", "root": 0, "serial": 5}             take part in labelling
    {"op": "label", "node": 0}                              be the root that begins it
    {"op": "configure", "node": 0, "sizes": [4, 4], "epoch": 1}          be its origin

and events:

    {"event": "ready", "node": 0} ... {"event": "ready"}          the last: all that were started
    {"event": "links-applied", "count": 16, "serial": 1}          by so many agents
    {"event": "pinned", "count": 16, "serial": 4}                 as well
    {"event": "stats", "agents": {"0": {"relayed": 5, ...}}, "serial": 2}
    {"event": "carrier", "node": 3, "port": 2, "up": false}       at once, unasked
    {"event": "listening", "count": 16, "serial": 3}
    {"event": "configured", "node": 5, "address": [1, 1]}         that server has its address
    {"event": "labelled", "node": 5, "label": [[1, 2], 6, 4], "at": 12.5}   word, prefix and its bits, when
    {"event": "outcome", "success": true, "ms": 3.1, ...}         the origin knows how AACM went
    {"event": "failed", "node": 3, "error": "..."}                that agent runs no more
"""

"""What measurements are made with.

measurement.py       the base class of measurements
probe.py             what they do on machines, and their connection to the client
probe_server.py      probes on this machine, also for measurements that another one makes
result.py            the base class of results: JSON, figures, tables
verdict.py           the verdict of a result: whether the machine was fast enough

fidelity/            whether the machine was fast enough: the verdict on a result

configuration.py     servers configure themselves
proof.py             what follows from installed tables and the agents' rule, for all packets
installed.py         what all switches hold
deliveries.py        where packets arrive, and where they must not
overload.py          more packets than the network takes
flood_watch.py       frames that circulate between switches
mptcp.py             Multipath TCP over parallel paths
mptcp_connection.py  the program at each end of such a connection
known_path.py        what links impose on a path: round-trip time, loss, rate; how long an answer may take
flows/  many flows at once: what sends and receives them, and what limited them
counting/  counters of links, ports, switches and queues
packets/  single packets: sent, received, followed
"""

"""What measurements are made with.

measurement.py       the base class of measurements
probe.py             what they do on machines, and their connection to the client
probe_server.py      probes on this machine, also for measurements that another one makes
measured_lab.py      what they know of the lab
arguments.py         their arguments: help texts, limits, servers
result.py            the base class of results: JSON, figures, tables
plain.py             dataclasses from JSON

echo.py              echo requests between many pairs of servers
taps.py              where echo requests and replies really pass
proof.py             what follows from installed tables and the agents' rule, for all packets
installed.py         what all switches hold
deliveries.py        where packets arrive, and where they must not
packet_stream.py     numbered packets that show outages
overload.py          more packets than the network takes
counters.py          what links and switches' ports have carried
port_counters.py     the counters of a switch's port
switch_counters.py   frames of a switch, and those for which it has no entry
packet_drops.py      packets that agents and switches did not read in time
flood_watch.py       frames that circulate between switches
mptcp.py             Multipath TCP over parallel paths
mptcp_connection.py  the program at each end of such a connection
flow_measurement.py  many flows: the idle lab first, for the ideal, and what sends them
flow_probe.py        the programs of many flows on one machine
flow_run.py          the programs of many flows, from their tasks to their reports
flow_sender.py       the program that sends the flows of all servers
flow_receiver.py     the program that receives them
flow_sockets.py      sockets of a transport in a namespace
known_path.py        what links impose on a path: round-trip time, loss, rate; how long an answer may take
tcp_info.py          what the kernel knows of TCP connections
flow_limit.py        what limited a flow
sockets.py           receive buffers
"""

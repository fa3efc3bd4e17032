"""Many flows at once: what sends and receives them, and what limited them.

limit.py        what limited a flow
measurement.py  many flows: the idle lab first, for the ideal, and what sends them
probe.py        the programs of many flows on one machine
receiver.py     the program that receives them
run.py          the programs of many flows, from their tasks to their reports
sender.py       the program that sends the flows of all servers
sockets.py      sockets of a transport in a namespace
tasks.py        what these programs are asked for, and what they print
tcp_info.py     what the kernel knows of TCP connections
"""

"""The private Open vSwitches of a lab, their controllers, and what is set at their ports.

shards.py           which bridges share their daemons, and their programs
openvswitch.py      starts the daemons with their bridges
appctl.py           commands to running daemons
ovsdb.py            transactions with their databases
rows.py             what the databases say of bridges and ports
controllers.py      the controller at the launch
waking.py           wakes the daemons while they connect to it
connections.py      the controllers of each switch, and whether it is connected
forwarder.py        the process through which switches reach a controller outside the lab
answering.py        corrects what switches answer, at their own sockets and for foreign controllers
statistics.py       OpenFlow's statistics and ports with what the lab knows better
flooding.py         a spanning tree for controllers that flood
export.py           sFlow and IPFIX
export_away.py      the same to collectors on another machine
receive_buffers.py  larger buffers of ports in user space
allocator.py        the memory allocator of the daemons
notifications.py    what the daemons hear of interfaces
"""

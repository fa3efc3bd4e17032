"""Counters of links, ports, switches and queues.

counters.py         what links and switches' ports have carried
port_counters.py    the counters of a switch's port
switch_counters.py  frames of a switch, and those for which it has no entry
history.py          what links have carried in the last minutes
packet_drops.py     packets that agents and switches did not read in time
"""

"""A running lab looked into.

tables.py    a node's table as predicted and as installed
explain.py   a packet's path in words
live_path.py  a packet's path in a running lab, through tables of any controller
trace.py     what a switch does with a frame, by Open vSwitch's own account
reach.py      which nodes a packet can pass
sightings.py  where one real packet arrives
flows.py     a switch's entries with live counters
flow_rates.py  their rates, from two looks
queues.py    what waits at interfaces, and what was dropped there
wireshark.py a dissector of control frames and labels
"""

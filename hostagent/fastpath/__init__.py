"""Forwarding in the kernel: an agent decides on the first packet of its kind, eBPF carries the next ones.

layout.py     map keys and values, shared with the kernel
program.py    the two programs: for interfaces and for TUN devices
tables.py     the maps of a lab, and the part of one server
"""

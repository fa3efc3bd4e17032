"""The network of a lab as its coordinator and every machine of it know it.

measured_lab.py  nodes, links that are down, and what agents and controller know of these
endpoint.py      servers as endpoints of measurements
snapshot.py      the same as inspections see it, and what a switch does with a frame
flooding.py      what agents and controller are told where agents exchange link state
"""

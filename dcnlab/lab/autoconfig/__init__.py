"""Address configuration and label learning in a lab, on one machine or on several.

configuring.py   a run of the protocol that the scheme names, over all machines
side.py          what a protocol is, and one machine's part in it
aacm.py          AACM: servers find their coordinates, and errors in the wiring
labelling.py     distributed labelling (WMGR), here and offline
dissector.py     AACM frames in Wireshark
scapy_layers.py  AACM frames as scapy layers
"""

"""Packets of a node, or what switches and their controller say.

command.py       what runs for a capture: tcpdump in a node, or one of the programs below
merging.py       what captures of several interfaces become
conversation.py  the program that makes one of them
pcapng.py        packets of several interfaces in one file
snooping.py      the program that writes what one switch and its controller say
"""

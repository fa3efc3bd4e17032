"""Plain hosts: their requests for hardware addresses, and the answers.

arp.py        ARP requests and replies
nd.py         IPv6 neighbour solicitations and advertisements
answering.py  which address each server is reached under, who asked for it, and who is told when it changes
"""

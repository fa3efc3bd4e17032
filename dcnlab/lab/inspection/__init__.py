"""A running lab looked into.

tables.py    a node's table as predicted and as installed
explain.py   a packet's path in words
capture.py   tcpdump in a node
"""

"""A key-value store with key-based routing: the hash of a key names the server that holds it.

placement.py  the servers that hold the copies of a key
store.py      the store of one server, served over TCP in its namespace
stores.py     the stores of one machine, and connections to them
ring.py       put, get and delete from any server; copies and their newest version
bulk.py       values that are larger than a line of the control socket
"""

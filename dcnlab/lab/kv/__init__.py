"""Key-based routing on top of a lab: keys live in the servers that their hashes name.

placement.py   which servers hold the copies of a key
store.py   a small store in a server's namespace, asked over plain TCP
ring.py    puts, gets and deletes from any server, copies and their newest version
bulk.py    values that are larger than a line of the control socket
"""

"""What all control protocols are built on; pure.

The modules:

    interface.py       a protocol's state machine, and the protocol at an agent
    one_hop.py         protocols between servers one hop apart, also through a switch
    codec.py           frames of fixed fields and a list of numbers
    authentication.py  the tag and the checksum that end every control frame
"""

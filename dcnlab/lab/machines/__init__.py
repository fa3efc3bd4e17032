"""One lab on many machines (docs/decisions/machines.md).

placement.py       which machine runs which nodes, so that few links are cut
placement_file.py  the same, as a user states it in a file
description.py     machines as a user describes them
part_lab.py        the part that this machine runs
"""

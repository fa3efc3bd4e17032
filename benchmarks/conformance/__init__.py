"""Conformance with OpenFlow 1.3: cases as data, each of which sends frames through a switch of a lab.

    python -m benchmarks conformance [--only TEXT] [--wrong] [--jobs N] [--json]

What a case expects is derived from the OpenFlow Switch Specification 1.3.5; frames are built by scapy, which
computes every checksum itself.  Names follow those of Ryu's switch tests and of OFTest, whose files are not
used.  Both data paths get the same frames: Open vSwitch alone, and with the switch fast path.  Beside it
``ofproto/trace`` says by which ports Open vSwitch's tables send each frame.

case.py      a case, and its parts
frames.py    the frames
fields.py    the fields of a match: where they are in a frame, and two values of each
matching.py  cases of matches and of set-field
actions.py   cases of the other actions
pipeline.py  cases of tables, instructions, changes of entries, timeouts
groups.py    cases of groups and meters
running.py   runs cases in a lab
peer.py      the program in the lab: changes tables, sends and receives
"""

from __future__ import annotations

"""OpenFlow tables of any controller as steps of packets: what Open vSwitch prints, read and carried out.

- fields: the header fields as bits of one number
- tables: entries, groups, ports, and the lookup
- reading: the dumps of ``ovs-ofctl`` as tables
- pipeline: what a switch does with a packet
- verdicts: what decides about a packet, and why it is lost
"""

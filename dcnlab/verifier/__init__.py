"""Proofs about tables: over all packets, none loops, none is lost that should arrive, none arrives elsewhere.

- search: every state that packets can be in, and what can become of them
- atoms: classes of headers that tables cannot tell apart
- checking: what must hold of packets, and violations with their paths
- offline: a scheme's compiled tables and its rule as steps of packets
- arrays: the same in arrays, for all pairs of large networks
- openflow: tables of any controller, as Open vSwitch prints them, as steps of packets
- installed, agents: what switches hold and the agents' rule, together
- watch: the same while that changes, entry by entry
- files: tables in files, of any network
- transfers, spaces: transfer functions of header space analysis, and which of their packets loop
- updates: what packets can meet while tables change
- sweep, forked: a scheme proved intact and after each of many failures, on all processors
"""

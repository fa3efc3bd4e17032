"""A trial: switches without Open vSwitch, whose entries are in the kernel only (docs/decisions/bridgeless.md).

- :mod:`compiler`: the process that writes tables into the maps
- :mod:`needs`: what of the lab's own tables the kernel leaves to Open vSwitch
- :mod:`networks`: a lab's network, with Open vSwitch and without
- :mod:`program`: the program that looks up and carries out
- :mod:`starting`: Open vSwitch is started for a shard whose switches forward
"""

"""The switch fast path: eBPF carries the entries that a userspace switch has installed.

monitor.py  Open vSwitch's flow monitor: every entry of a switch, and every change (pure)
entries.py  OpenFlow entries as map keys and values (pure)
program.py  what the two programs share: maps, notes, fields of frames
filter.py   the program at the switch's packet sockets
classifier.py  the program behind them
maps.py     the maps of a lab, and where the programs are attached
driver.py   keeps the maps as the switches' tables are
"""

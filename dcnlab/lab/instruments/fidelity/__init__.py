"""Whether the machine was fast enough for what was measured: a verdict in each result.

watcher.py      the program that watches the machine, one for each machine of a lab
watch.py        starts it and asks it
observation.py  what it has seen while something was measured
judging.py      the verdict that follows, with bounds and what would help (pure)
judged.py       makes a measurement, and judges it
"""

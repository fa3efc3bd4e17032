"""Chaos: random failures of links and processes, and what must hold after each.

search.py     a chaos run as a whole
targets.py    what may fail in a lab
plan.py       the steps of a seed, without a lab
run.py        a fresh lab, taken through steps, with a check after each
resources.py  the memory and the open files of its processes
shrink.py     the fewest items that still fail
written.py    steps as a scenario file
"""

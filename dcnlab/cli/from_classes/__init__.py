"""Commands that are made from classes.

measurements.py  a command for every registered measurement
operations.py    a command for operations: fail, restore, impair ..., and those of --custom files
signature.py     functions as commands
answers.py       answers of operations as text
"""

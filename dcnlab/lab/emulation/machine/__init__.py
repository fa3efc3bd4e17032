"""What this machine offers: its kernel, its programs, limits of processor time and memory.

kernel.py    features of its kernel
programs.py  its programs, and their Debian packages
limits.py    limits of processor time and memory, by cgroups
priority.py  which programs have the processors first
"""

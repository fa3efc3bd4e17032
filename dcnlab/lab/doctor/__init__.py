"""What labs need of this machine: checks, missing packages, the fastest settings.

checks.py       what labs need or can use, and the effect of what is missing
attempts.py     what the kernel allows, found by doing it
installing.py   the command that installs missing packages
lab.py          what of a lab that runs is not well
calibration.py  measures which settings are the fastest
"""

"""The processes that a lab cannot do without: watched, started again, and reported.

supervised.py   each kind, with what it takes to start it again
supervision.py  watches them and starts them again
endings.py      which of them have ended, asked of the kernel at once
backoff.py      how often, and when
restarts.py     what follows from a restart, and what users may restart
health.py       those that have ended and do not run again yet
reports.py      what the journal says of them
"""

"""One server's data sent to several others: along a complete graph, or by a pipeline.

plan.py      pure: which part goes over which edges, and the load of the busiest link
transfer.py  the figures of one replication
tasks.py     what those programs are asked for, and what they print
node.py      the program in each server: receives, forwards, checks
runner.py    starts those programs and takes the time
"""

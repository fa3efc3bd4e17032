"""One server's data to several others: along a complete graph, and by a pipeline.

plan.py   pure: which part goes over which edges, and what the busiest link then carries
node.py   the program that runs in each server: receives, forwards, checks
runner.py    starts those programs, says go, takes the time
"""

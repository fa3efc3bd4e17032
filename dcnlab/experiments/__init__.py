"""Experiments: a scenario in labs, for every combination of some values and several times each.

matrix.py      the values that vary, and where in a scenario they stand; pure
provenance.py  what a result depends on beside its scenario: versions, commit, kernel, machine
sweep.py       runs all combinations, one lab after the other; resumes an interrupted sweep
summary.py     rows for tables, means with 95 % intervals
scenario.py    one scenario: run_scenario
recorded.py    the recording of a lab, for `dcnlab replay`
prediction.py  what the evaluator predicts of flows measured in a lab
report.py      one HTML page with tables and figures for a sweep
single.py      one run: its row, and its page
"""

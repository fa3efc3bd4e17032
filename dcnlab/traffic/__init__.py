"""Traffic: who sends to whom, how much, and when; labs send it, the evaluator predicts it.

- patterns: who sends to whom: permutation, incast, all-to-all, ..., or a file
- matrices: longest matching, racks in pairs, gravity, Pareto, hot servers and racks
- demand_files: matrices from CSV, Parquet, numpy and networkx, perhaps several steps
- given: matrices and graphs of a Python program, as such files
- lines: the words of a file
- sizes: distributions of flow sizes: those of papers, fixed ones, or a file
- workload: flows with their times, drawn from a pattern and a distribution
- completion: flow completion times and slowdowns, summarised by flow size
"""

"""What commands take.

arguments.py    arguments that commands share: labs, nodes, topologies, schemes
options.py      options that commands share, checked before any work begins
pairs.py        how many pairs a network has, said before the work
durations.py    options for times
lab_options.py  the options of labs
custom.py       the option --custom
cluster.py      the Dask cluster on which commands of the evaluator compute
spec_lists.py   comma-separated topologies and schemes
completion.py   words that the shell completes
"""

"""The offline evaluator: the same fabrics and routing rules as in a lab, without packets.

    graph/        fabrics as graphs: distances, shortest paths, cuts, failures
    routing/      schemes over all pairs: next hops, path lengths, table sizes
    traffic/      traffic over routed paths: loads, throughput, latency
    optimum/      the factor by which any routing could carry a demand, between certified bounds
    deadlock/     which buffers can wait for each other in a cycle, under all routes of a scheme
    reporting/    figures and HTML pages

    evaluate.py      schemes on one fabric: ``dcnlab evaluate``
    metrics.py       further metrics, found by name: bisection, throughput, latency ...
    compare.py       grids of evaluations in parallel: ``dcnlab compare``
    comparisons.py   the same for scripts and notebooks: ``dcnlab.compare``
    dividing.py      one evaluation on several workers
    compiling.py     progress messages while workers compile kernels
    worker_processes.py  fresh Python processes for it, and what any worker loads first
    sweep.py         increasing shares of failures: ``dcnlab sweep``
    cost.py          price and power of networks: ``dcnlab cost``
    sizing.py        instances of families by servers, price or switches: ``dcnlab size``, ``compare --equal``
    borel_search.py  the largest Borel Cayley graph of a diameter: ``dcnlab borel-search``
    seeds.py         what seeds draw: networks, traffic, failures
    statistics.py    means with confidence intervals
    averages.py      means over seeds of a comparison's results

Importing the package imports no module; numba is loaded with the modules that use it.  A new
scheme needs no code here; a module in routing/vector/ makes its evaluation fast.
"""

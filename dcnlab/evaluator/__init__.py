"""The offline engine: the same fabrics and the same rules as in a lab, without packets.

    graph/        fabrics as graphs: distances, shortest paths, cuts, failures
    routing/      schemes over all pairs: next hops, path lengths, table sizes
    traffic/      traffic over routed paths: loads, throughput, latency
    reporting/    figures and pages
    reproduce/    the papers' claims, measured: ``dcnlab reproduce``

    evaluate.py      one fabric, several schemes: ``dcnlab evaluate``
    metrics.py       its figures beyond paths and tables, each by its name
    compare.py       grids of evaluations over processes: ``dcnlab compare``
    compiling.py     progress messages while workers compile kernels
    worker_processes.py  fresh Python processes for it
    sweep.py         increasing failures: ``dcnlab sweep``
    cost.py          price and power: ``dcnlab cost``
    borel_search.py  the largest Borel Cayley graph of a diameter: ``dcnlab borel-search``
    statistics.py    means with confidence intervals

Importing the package imports nothing; numba comes with the modules that use it.  A new
scheme needs nothing here; a file in routing/vector/ makes it fast.
"""

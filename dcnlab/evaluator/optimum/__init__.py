"""The optimum: how much of a demand any routing could carry, between two bounds that anybody can check.

The maximum concurrent flow is the largest factor theta by which all demands can be carried at once, over any
paths in any shares (Shahrokhi and Matula, 1990).  A feasible flow bounds it from below.  Prices of links bound
it from above: theta <= sum(capacity * price) / sum(demand * distance under these prices).

problem.py      a network with demands, folded: single-homed hosts become demands of their switches
shortest.py     shortest paths under prices, and even splits over all of them
search.py       the two bounds while a search runs
pool.py         some paths of each pair, and shifts of flow between them
both_ends.py    cheapest paths of single pairs, searched from both ends
by_paths.py     the search that keeps such paths
by_sources.py   the search that keeps the flow of each source, for millions of pairs
restricted.py   the optimum over some paths only: the k shortest, some more hops, Valiant's
solve.py        the optimum of a problem
beside.py       the optimum of a traffic pattern, and a scheme's share of it
exact.py        the exact optimum of small networks, by linear programming
carried.py      the optimum of flows of known sizes, in Mb/s
installed.py    its splits as a scheme for labs, with weights for select groups
certificate.py  the flow and the prices that prove it, as JSON
"""

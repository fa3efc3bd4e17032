"""Routing schemes over all pairs of a fabric.

    forms.py          the vectorised forms of a scheme, as types
    vectorized.py     finds the vectorised form of a scheme by its name
    vector/           the vectorised forms, one module per scheme
    repair.py         backup paths around known failures for next-hop rules
    reroute.py        backup paths around known failures for source routes
    chains/           any scheme as a Markov chain, solved exactly: needs no vectorised form
    splits.py         kernels over weighted next hops: hop counts, loads, flows
    torus_distances.py  distances on a torus in closed form
    pair_distances.py  distances of single pairs: in closed form or by searches
    single_pairs.py   path lengths of single pairs: the common parts
    blocks.py         pairs in blocks of some destinations, with their distances
    histogram.py      how many pairs are how far apart
    path_lengths.py   routed path lengths and stretch
    sampled_paths.py  one random path per packet
    table_sizes.py    forwarding-table entries and bits
    tables/           tables counted without compiling each

Each figure has two independent computations, by vectorised form and by Markov chain
(``generic=True``); tests check that they agree.
"""

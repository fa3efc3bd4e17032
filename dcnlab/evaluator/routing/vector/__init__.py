"""Vectorised forms of routing schemes: next hops of all nodes towards many destinations at once.

A scheme may have a module here with the scheme's name (``-`` becomes ``_``).  Tests check that
each form equals the scheme's own ``next_hops``.  A *directed link* is an index into
:class:`topos.graph.Adjacency`; ``known_down`` are the links that nodes know to be down.  The
module has one of the first three functions, or none; each returns None where it does not apply.

Deterministic next hops that depend on the destination alone:

    rule(scheme, known_down) -> Rule                   destinations -> links[destination, node]

``links[i, v]`` is the directed link over which v sends packets for ``destinations[i]``, ``NONE``
where it drops them.  Elements of the destination itself and of hosts that do not relay are
ignored.  Where the alternative is a drop, a link that is down may be given.  A RuleScheme gives
its rule alone; the caller adds backup paths around known failures, unless the rule repairs routes itself.

Routes that the source determines:

    source_routes(scheme, known_down) -> SourceRoutes  sources, destinations -> links[pair, hop]

gives the directed links that each pair's packets cross, in order, then ``NONE``.  A module with
``rule`` may have it too: it is used for few pairs of a large network.

Weighted next hops that depend on the destination alone and are free of cycles:

    shares(scheme, known_down) -> Shares               destinations -> shares[destination, link]

gives the probability with which a node sends over each of its links.

Further functions avoid work that a caller does not need.  Without failures, path lengths only:

    lengths(scheme) -> Lengths                         sources, destinations, cost -> hops[destination, source]

``cost[v]`` is the number of hops that an arrival at v counts.  The same for single pairs, without a look
at the rest of a large network, and where path lengths are random:

    pair_lengths(scheme) -> PairLengths                sources, destinations, cost -> hops[pair]
    spread(scheme) -> Spread                           sources, destination, cost -> chance[source, hops]

Or, where path lengths are random and a few computations serve all pairs:

    joint(scheme) -> Joint      (sources, destinations, distances)..., cost -> pairs[hops, distance]

Beside ``shares``, where all failures are known, link loads only:

    loads(scheme) -> Loads                             pairs -> packets[link]

Any module may state the sizes of tables under the failures that the control plane knows.  They are
those of the compiled tables:

    table_counts(scheme) -> Tables                     nodes -> entries, bits compared, next hops

Facts about a scheme, which are False without the function:

    always_shortest(scheme) -> bool   all packets take shortest paths, in links, if nodes know all failures
    symmetric(scheme) -> bool         without failures, the lengths of paths to a server are the same for all
    few_steps(scheme) -> bool         without failures, single paths are best followed by the scheme itself

And the work that no form avoids:

    searches(scheme) -> int           the pairs of vertices, where each needs a search of its own

The modules:

    brp.py             BCube's parallel paths: source routes, lengths
    cr.py              CR routing on Borel Cayley graphs, depth first: source routes, lengths
    cr_bfs.py          the same, nearest end first
    dcube.py           DCube's published routing: source routes, lengths
    dcube_shortest.py  DCube's shortest source routes
    dfr.py             DCellRouting: next hops
    dor.py             dimension-order routing: next hops
    ecmp.py            equal-cost multipath: shares, loads
    greedy.py          greedy routing by torus distance: next hops
    hier.py            hierarchical routing on any network: as hrsw
    hrsw.py            HR-SW: next hops, pair lengths
    hrsw_set.py        HR-SW's set mode: next hops, pair lengths
    ksp.py             k shortest paths: spread
    min_ad.py          minimal adaptive routing: lengths, pair lengths
    permsort.py        sorting on Cayley graphs: table sizes
    pow.py             POW on CLOT and torus networks: shares, joint
    shortest.py        full tables: next hops
    twolevel.py        a fat tree's two-level tables: table sizes
    twophase.py        Two-Phase routing on Borel Cayley graphs: source routes, lengths
    tz.py              Thorup-Zwick routing: next hops, pair lengths
    updown.py          up*/down* routing: next hops, pair lengths
    valiant.py         Valiant routing: on tori spread
    wmgr.py            WMGR by the word metric: next hops, source routes
    wmgr_cayley.py     WMGR on Cayley graphs: next hops
"""

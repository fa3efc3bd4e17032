"""What the DCube paper says, and the rows that are evidence for it."""

from dcnlab.papers.claim import Sentence

_of = Sentence.of

SENTENCES = (
    _of("H-DCube has diameter 2m + 1", "Theorem 1", "dcube-theorems/h-[0-9]*"),
    _of("M-DCube has diameter 2 ceil((m + 1)/2) + 1", "Theorem 3", "dcube-theorems/m-[0-9]*"),
    _of("The 1-moebius cube has diameter ceil((m + 1)/2)", "section 3", "dcube-theorems/mobius-[0-9]*"),
    _of(
        "The moebius cube has about half the diameter and two thirds the expected distance of the hypercube",
        "section 1",
        "dcube-theorems/mobius-over-hyper-*",
    ),
    _of("Algorithm 2 gives minimal expansions", "section 4, Algorithm 2", "dcube-routes/minimal-*"),
    _of("A minimal expansion has weight at most ceil(m/2)", "proof of Theorem 3", "dcube-routes/weight-*"),
    _of(
        "Algorithm 3 gives the shortest path",
        "section 4, Algorithm 3",
        "dcube-routes/algorithm-3-*",
        "dcube-routes/excess-*",
    ),
    _of("Algorithm 3 takes at most ceil((m + 1)/2) switch hops", "proof of Theorem 3", "dcube-routes/hops-*"),
    _of("H-DCube has an all-to-all ABT of N / (2/3 n/k)", "Theorem 8", "dcube-abt/abt-hdcube"),
    _of("M-DCube has an all-to-all ABT of N / (1/3 n/k)", "Lemma 1", "dcube-abt/abt-mdcube"),
    _of(
        "The all-to-all ABT of Fat-Tree and BCube is N",
        "section 5",
        "dcube-abt/abt-fattree:8",
        "dcube-abt/abt-bcube:8,2",
    ),
    _of(
        "DCube needs significantly fewer wires and switches than BCube and Fat-Tree",
        "Summary; Fig. 6",
        "dcube-fig6/switches-*-[0-9]*",
        "dcube-fig6/wires-*-[0-9]*",
    ),
    _of(
        "DCube needs considerably fewer links and NIC ports than BCube and DCell",
        "section 5, Fig. 7",
        "dcube-fig7/NIC ports-BCube-*",
        "dcube-fig7/NIC ports-DCell-*",
        "dcube-fig7/links-BCube-*",
        "dcube-fig7/links-DCell-*",
    ),
    _of(
        "DCube needs about as many links and NIC ports as HCN",
        "section 5, Fig. 7",
        "dcube-fig7/NIC ports-HCN-*",
        "dcube-fig7/links-HCN-*",
    ),
    _of(
        "DCube costs less and needs less power than BCube, DCell and HCN",
        "section 5, Figs. 6 and 8",
        "dcube-fig8/price-[BDH]C*-[0-9]*",
        "dcube-fig8/power-[BDH]C*-[0-9]*",
    ),
    _of(
        "BCube with 16-port switches costs more and needs more power than with 8-port switches",
        "section 5, Fig. 8",
        "dcube-fig8/*-16-*",
    ),
    _of(
        "DCube has more parallel paths than HCN and BCube, and DCell more than DCube",
        "section 5, Fig. 4(a)",
        "dcube-fig4/paths-*",
    ),
    _of("DCube always has the largest complete graph", "section 5, Fig. 4", "dcube-fig4/graph-*"),
    _of(
        "The largest complete graph of DCell and BCube has k + 2 servers", "section 5", "dcube-fig4/*-complete"
    ),
    _of(
        "H-DCube has m parallel and n weak parallel paths",
        "Theorem 4",
        "dcube-paths/hdcube:*-parallel",
        "dcube-paths/hdcube:*-weak",
    ),
    _of(
        "M-DCube has m parallel and n weak parallel paths",
        "Theorem 6",
        "dcube-paths/mdcube:*-parallel",
        "dcube-paths/mdcube:*-weak",
    ),
    _of("m + 1 servers form an edge-disjoint complete graph", "Theorem 7", "dcube-paths/*-complete"),
    _of(
        "The two-hop paths of Theorem 7's proof are edge-disjoint in H-DCube",
        "proof of Theorem 7",
        "dcube-paths/hdcube-*-literal",
    ),
    _of(
        "The highest one-to-one rate is below that of DCell and BCube",
        "Summary",
        "dcube-speedup/rate-bcube*",
        "dcube-speedup/rate-dcell*",
    ),
    _of(
        "Replication to r servers is r times as fast as by pipeline",
        "section 4; section 5",
        "dcube-speedup/*-speed",
    ),
    _of(
        "DCube has a higher one-to-several speedup than DCell, HCN and BCube",
        "section 5; Summary",
        "dcube-speedup/speed-*",
    ),
    _of(
        "DCube has a higher ABT than DCell and HCN",
        "section 5, Fig. 5",
        "dcube-fig5/*-DCell-[0-9]*",
        "dcube-fig5/*-HCN-[0-9]*",
    ),
    _of("DCube has a higher ABT than DCell when servers or switches fail", "section 1", "dcube-fig5/*-dcell"),
    _of("Theorem 2 replaces inapplicable symbols", "Theorem 2", "dcube-statements/theorem-2-*"),
    _of(
        "The shifted sequences of Theorem 6's proof give parallel paths",
        "proof of Theorem 6",
        "dcube-statements/shifts-*",
    ),
    _of("HCN has an all-to-all ABT of N / (2/3 2^k2)", "section 5", "dcube-statements/hcn-*"),
    _of("Fat-Tree and BCube have a higher ABT than M-DCube", "section 5", "dcube-statements/outperform-*"),
    _of("Three 1 Gb/s ports can be bundled into one of 3 Gb/s", "section 6", "dcube-statements/trunk"),
    _of("DCube has a higher one-to-one speedup than BCube", "section 1; conclusion", "dcube-speedup/higher-*"),
    _of(
        "The two-hop paths of Theorem 7's proof are edge-disjoint in M-DCube",
        "proof of Theorem 7",
        "dcube-paths/mdcube-*-literal",
    ),
    _of(
        "The throughput degrades gracefully when servers or switches fail",
        "Abstract",
        "dcube-fig5/?-DCube-servers-0.[12]",
        "dcube-fig5/?-DCube-switches-0.[12]",
    ),
    _of(
        "DCube(n, k) has 2^m n servers and 2^m switches",
        "section 3",
        "dcube-structure/built-servers-*",
        "dcube-structure/built-switches-*",
    ),
    _of("Neighbouring switches are joined by k pairs of servers", "section 4", "dcube-structure/pairs-*"),
    _of("Every switch has m neighbouring switches", "section 3", "dcube-structure/degree-*"),
    _of("A server has two links at any size", "section 1; conclusion", "dcube-structure/two-links-*"),
    _of("The hypercube has diameter m", "section 3", "dcube-structure/hypercube-*"),
    _of("DCube is regular", "section 1; conclusion", "dcube-structure/regular-*"),
    _of("DCube is symmetric", "section 1; conclusion", "dcube-structure/symmetric-*"),
    _of(
        "DCube extends to servers of q ports",
        "section 6",
        "dcube-structure/ports-*",
    ),
    _of("Each sub-network may use another cube", "section 3", "dcube-structure/mixed-*"),
    _of(
        "Other cubes have a diameter similar to the 1-moebius cube's", "section 3", "dcube-structure/similar-*"
    ),
    _of("DCube(16,1) has longer paths than DCube(16,2)", "section 3", "dcube-structure/sixteen-*"),
    _of(
        "Rotations of a minimal expansion give W(A + B) parallel paths",
        "Theorem 5",
        "dcube-structure/theorem-5-*",
    ),
    _of(
        "Rotations, and a term added first and last, give m parallel paths of W or W + 2 hops",
        "proof of Theorem 4",
        "dcube-structure/proof-4-*",
    ),
    _of(
        "Paths of the complete graph have two switch hops in H-DCube, at most four in M-DCube",
        "section 4, after Theorem 7",
        "dcube-structure/hops-*",
    ),
    _of("Algorithm 1 balances the load of servers", "section 4", "dcube-structure/balanced-*"),
    _of(
        "High-level links of DCell and FiConn carry more than low-level ones",
        "section 2",
        "dcube-rivals/levels-*",
    ),
    _of("DCell and FiConn need two levels for 4096 servers", "section 2", "dcube-rivals/level-2-*"),
    _of("DCell needs four ports per server for 4096 servers", "section 2", "dcube-rivals/dcell-ports"),
    _of("BCube needs four ports per server for 4096 servers", "section 2", "dcube-rivals/bcube-ports"),
    _of("The Kautz digraph has a larger diameter than DCube", "section 2", "dcube-rivals/kautz-[hm]*"),
    _of("A 2-ary Kautz digraph needs four ports per server", "section 2", "dcube-rivals/kautz-ports"),
    _of("Placing tasks near each other saves much of the bandwidth", "section 6", "dcube-rivals/placed-*"),
    _of("DCube has a higher ABT than FiConn", "section 2", "dcube-rivals/ficonn-*"),
    _of("Lemma 1's formula is above that of HCN", "section 5", "dcube-rivals/m-over-hcn"),
    _of("DCube has longer paths than BCube", "section 6", "dcube-rivals/longer-*"),
    _of("DCube has a higher one-to-several speedup than Fat-Tree", "Summary", "dcube-rivals/several-fattree"),
    _of("DCells of a level are fully connected with one another", "section 2", "dcube-rivals/joined-*"),
    _of(
        "E_j makes the applicable terms of lower index inapplicable",
        "section 4, on Algorithm 3",
        "dcube-structure/complements-*",
    ),
)

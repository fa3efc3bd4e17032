"""What the CLOT paper says, and the rows that are evidence for it."""

from dcnlab.papers.claim import Sentence

_of = Sentence.of

SENTENCES = (
    _of(
        "CLOT has a diameter 35 to 50 % below CamCube's", "section 8.2, Fig. 14", "clot-fig14/fig14-diameter-*"
    ),
    _of(
        "CLOT's average path is 40 to 50 % shorter than CamCube's",
        "section 8.2, Fig. 14",
        "clot-fig14/fig14-average path-torus-*",
    ),
    _of(
        "CLOT's average path is 10 to 20 % shorter than NovaCube's",
        "section 8.2, Fig. 14",
        "clot-fig14/fig14-average path-novacube-*",
    ),
    _of("A torus has diameter floor(k/2) n", "section 3.2", "clot-diameter/torus-diameter-*"),
    _of("CLOT has diameter ceil((floor(k/2) + 1) n / 2)", "Theorem 3.3", "clot-diameter/diameter-*"),
    _of("CLOT has bisection width k^n + 4 k^(n-1)", "Theorem 3.4", "clot-bisection/bisection-[0-9]*"),
    _of("A torus has bisection width 4 k^(n-1)", "section 4.2.2", "clot-bisection/bisection-torus-*"),
    _of(
        "CLOT's bisection is at least 25 % above that of a torus",
        "section 4.2.2; section 9",
        "clot-bisection/bisection-gain-[48]-*",
    ),
    _of("k = 10 means a 250 % larger bisection", "section 4.2.2", "clot-bisection/bisection-gain-10-*"),
    _of("The largest channel load is at least k / (2k + 8)", "Eq. 8", "clot-eq10/eq8-*"),
    _of("The largest channel load is at most k / (k + 4)", "Eq. 9", "clot-eq10/eq9-*"),
    _of("The ideal throughput is between (k + 4)/k and (2k + 8)/k", "Eq. 10", "clot-eq10/eq10-*"),
    _of("The ideal throughput of a torus is between 4/k and 8/k", "section 4.2.3", "clot-eq10/ideal-torus-*"),
    _of("The normalised worst-case throughput is at least 62.5 %", "section 4.2.3", "clot-eq10/normalized-*"),
    _of("The ideal throughput is at least 65 %", "section 9", "clot-eq10/gain-*"),
    _of("Eq. 11 gives the number of shortest paths", "Eq. 11, second form", "clot-eq11/eq11-[0-9]*"),
    _of(
        "The average path is 42 to 50 % below CamCube's when links or nodes fail",
        "section 8.5, Fig. 18",
        "clot-fig18/fig18-links-*",
        "clot-fig18/fig18-nodes-*",
    ),
    _of("The latency is 42.2 to 50.1 % below CamCube's", "section 8.4, Fig. 17", "clot-*/fig17-CamCube-*"),
    _of("The latency is 7.3 to 19.7 % below NovaCube's", "section 8.4, Fig. 17", "clot-*/fig17-NovaCube-*"),
    _of("The throughput is 3 to 4 % above NovaCube's on average", "section 8.3", "clot-fig1[56]/*-novacube"),
    _of("CLOT has (k/2)^n switches", "section 4.2.5", "clot-switches/*(k/2)^n"),
    _of("Every switch of CLOT has 2^n ports", "section 4.1.2; Theorem 3.2", "clot-switches/*2^n"),
    _of("POW is free of deadlock with two virtual channels", "section 7.3", "clot-routing/deadlock-*"),
    _of("POW is free of livelock: it delivers every packet", "section 7.4", "clot-routing/livelock-*"),
    _of(
        "A server has one farthest server, whose farthest it is",
        "Theorem 3.1",
        "clot-statements/farthest-*",
        "clot-statements/mutual-*",
    ),
    _of("The farthest server is (a_i + floor(k/2)) mod k", "Lemma 3.1.1", "clot-statements/lemma-*"),
    _of("With credits no packet is lost", "section 7.2", "clot-statements/lossless-*"),
    _of("POW balances loads better than dimension order", "section 9", "clot-statements/balance-*"),
    _of("Failures of nodes lengthen paths more than those of links", "section 8.5", "clot-statements/nodes-*"),
    _of("CLOT saves more latency the larger it is", "section 8.4", "clot-statements/more-*"),
    _of(
        "CLOT has a better path diversity than the torus", "sections 4.2.4 and 9", "clot-statements/diversity-*"
    ),
    _of("AACM's frames", "section 6.2.1, Figs. 7 and 8", "clot-statements/frame-*"),
    _of("AACM gives every server its coordinates", "section 6.2.2, Fig. 9", "clot-statements/fig9-*"),
    _of("AACM reports a link or server that failed", "section 6.2.2, Fig. 10", "clot-statements/fig10-*"),
    _of("AACM detects wrong cables", "section 6.2.2, Fig. 11", "clot-statements/fig11"),
    _of("CLOT halves the diameter of the torus", "section 9", "clot-routing/halves-*"),
    _of("CLOT is node-symmetric", "section 4.2.3", "clot-structure/nodes-alike-*"),
    _of("CLOT is edge-symmetric", "section 4.2.3", "clot-structure/edges-alike-*"),
    _of(
        "A server has C(n, i) farthest servers on dimension i, 2^n - 1 in all",
        "Theorem 3.2; Lemma 3.1.1, proof",
        "clot-structure/dimension-*",
        "clot-structure/farthest-in-all-*",
    ),
    _of(
        "The number of shortest paths increases rapidly with dimension",
        "section 4.2.4",
        "clot-structure/paths-grow-*",
    ),
    _of("CLOT has shorter paths than hierarchical networks", "Abstract", "clot-structure/hierarchy-[md]*"),
    _of(
        "CLOT has a higher throughput than hierarchical networks",
        "Abstract",
        "clot-structure/hierarchy-throughput",
    ),
    _of(
        "A failed top-of-rack switch cuts off its servers; in CLOT a failed switch cuts off none",
        "section 3.1",
        "clot-structure/rack-*",
    ),
    _of(
        "Above 16,000 servers CLOT uses more switches than the fat tree",
        "section 4.2.5",
        "clot-structure/more-*",
    ),
    _of("CLOT's switches cost much less than the fat tree's", "section 4.2.5", "clot-structure/lower-cost-*"),
    _of(
        "Valiant routing takes longer paths than dimension order",
        "section 3.2",
        "clot-structure/valiant-longer",
    ),
    _of("Dimension order balances loads badly", "section 3.2", "clot-structure/dor-unbalanced"),
    _of("MIN AD is not free of deadlock", "section 3.2", "clot-structure/min-ad-deadlock"),
    _of("NovaCube greatly reduces the diameter of the torus", "section 2", "clot-structure/novacube-*"),
    _of("POW takes a shortest path with a high probability", "section 7.4", "clot-structure/likely-*"),
    _of(
        "The average path grows with the share of failed links or nodes",
        "section 8.5",
        "clot-structure/longer-*",
    ),
    _of("Failures rarely disconnect servers of CLOT", "section 8.5", "clot-structure/connected-*"),
    _of("AACM reports success to the origin", "section 6.2.2", "clot-structure/aacm-success"),
    _of("CLOT tolerates more faults than hierarchical networks", "Abstract", "clot-structure/tolerance-*"),
)
